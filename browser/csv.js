/** Reads and writes tables of texts and labels. */

const TEXT_NAMES = ["text", "sentence", "content", "body"]; // of columns, in any case
const LABEL_NAMES = ["label", "labels", "category", "class"];
const DELIMITERS = [",", ";", "\t"];

/**
 * Returns the texts of a file and their labels.
 *
 * A table has columns with a name of each list above; without such names, texts in the first and labels in the second
 * column. A file of one column is a list of texts, which get the name of the file as label.
 * @param {ArrayBuffer} buffer - UTF-8, or else Windows-1252
 * @param {string} name - of the file
 * @returns {{text: string, label: string}[]}
 */
export function readTexts(buffer, name) {
  const content = decode(buffer);
  const plain = name.replace(/\.\w+$/, "");
  if (!/\.(csv|tsv)$/i.test(name)) return cleaned(content.split("\n").map((text) => ({ text, label: plain })));
  const rows = rowsOf(content, delimiterOf(content)).filter((row) => row.some((cell) => cell.trim()));
  const names = (rows[0] ?? []).map((cell) => cell.trim().toLowerCase());
  const place = (known) => names.findIndex((each) => known.includes(each));
  const [text, label] = [place(TEXT_NAMES), place(LABEL_NAMES)];
  const hasNames = text >= 0 || label >= 0;
  const textAt = text >= 0 ? text : label === 0 ? 1 : 0;
  const labelAt = label >= 0 ? label : names.length < 2 ? -1 : textAt === 0 ? 1 : 0;
  const read = (row) => ({ text: row[textAt] ?? "", label: labelAt < 0 ? plain : row[labelAt] ?? "" });
  return cleaned(rows.slice(hasNames ? 1 : 0).map(read));
}

/** Returns texts and labels as csv, with names of the columns. */
export function writeCsv(rows) {
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [["text", "label"], ...rows.map(({ text, label }) => [text, label])].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Returns the texts that have a label, each in one line. */
function cleaned(rows) {
  const oneLine = (text) => text.replace(/\s+/g, " ").trim();
  return rows.map(({ text, label }) => ({ text: oneLine(text), label: oneLine(label) })).filter(({ text, label }) => text && label);
}

function decode(buffer) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer);
  } catch {
    return new TextDecoder("windows-1252").decode(buffer);
  }
}

/** Returns the delimiter that the first line has most often. */
function delimiterOf(content) {
  const line = content.split("\n", 1)[0];
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

/** Returns the cells of each row (RFC 4180). */
function rowsOf(content, delimiter) {
  const rows = [[""]];
  let isQuoted = false;
  for (let i = 0; i < content.length; i++) {
    const row = rows[rows.length - 1];
    const letter = content[i];
    if (isQuoted && letter === '"' && content[i + 1] === '"') row[row.length - 1] += content[i++];
    else if (letter === '"' && (isQuoted || !row[row.length - 1])) isQuoted = !isQuoted;
    else if (!isQuoted && letter === delimiter) row.push("");
    else if (!isQuoted && letter === "\n") rows.push([""]);
    else if (isQuoted || letter !== "\r") row[row.length - 1] += letter;
  }
  return rows;
}
