"""Learning from a teacher."""
