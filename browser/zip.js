/** Writes a zip file whose entries are stored, not compressed. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let bits = byte;
  for (let i = 0; i < 8; i++) bits = (bits >>> 1) ^ (bits & 1 ? 0xedb88320 : 0);
  return bits;
});
const VERSION = 20; // of the format
const UTF8_NAMES = 1 << 11;
const FIRST_DAY = (1 << 5) | 1; // 1 January 1980: a file depends on its content alone

/**
 * @param {Object<string, Uint8Array | string>} files - path → content
 * @returns {Blob}
 */
export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [path, content] of Object.entries(files)) {
    const name = new TextEncoder().encode(path);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const facts = [
      [2, VERSION], [2, UTF8_NAMES], [2, 0], [2, 0], [2, FIRST_DAY], [4, crc32(bytes)], [4, bytes.length], [4, bytes.length],
      [2, name.length], [2, 0],
    ];
    const header = fields([4, 0x04034b50], ...facts);
    parts.push(header, name, bytes);
    directory.push(fields([4, 0x02014b50], [2, VERSION], ...facts, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), name);
    offset += header.length + name.length + bytes.length;
  }
  const count = directory.length / 2;
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = fields([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

/** Returns the cyclic redundancy check of some bytes. */
export function crc32(bytes) {
  let bits = 0xffffffff;
  for (const byte of bytes) bits = TABLE[(bits ^ byte) & 255] ^ (bits >>> 8);
  return ~bits >>> 0;
}

/** Returns numbers as bytes, lowest first; each is a pair of its size, 2 or 4, and its value. */
function fields(...numbers) {
  const bytes = new Uint8Array(numbers.reduce((sum, [size]) => sum + size, 0));
  let place = 0;
  for (const [size, value] of numbers) {
    for (let i = 0; i < size; i++) bytes[place++] = (value >>> (8 * i)) & 255;
  }
  return bytes;
}
