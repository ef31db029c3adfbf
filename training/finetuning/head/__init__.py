"""The first head: a linear model of what the frozen encoder says of the rows."""
