/** MD5 (RFC 1321) and HMAC-MD5 (RFC 2104) of bytes. It names words; it protects nothing. */

const SHIFTS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]; // of each round
const SINES = Array.from({ length: 64 }, (_, i) => Math.floor(2 ** 32 * Math.abs(Math.sin(i + 1))) | 0);

/**
 * Returns the MD5 digest of bytes.
 * @param {Uint8Array} message
 * @returns {Uint8Array} 16 bytes
 */
export function md5(message) {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const words = new DataView(padded.buffer);
  words.setUint32(padded.length - 8, message.length << 3, true);
  words.setUint32(padded.length - 4, message.length >>> 29, true);
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let offset = 0; offset < padded.length; offset += 64) mixChunk(state, words, offset);
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((word, index) => digest.setUint32(4 * index, word, true));
  return new Uint8Array(digest.buffer);
}

/**
 * Returns a function that computes HMAC-MD5 with one key.
 * @param {Uint8Array} key
 * @returns {(message: Uint8Array) => Uint8Array}
 */
export function hmacMd5(key) {
  const secret = new Uint8Array(64);
  secret.set(key.length > 64 ? md5(key) : key);
  const inner = secret.map((byte) => byte ^ 0x36);
  const outer = secret.map((byte) => byte ^ 0x5c);
  return (message) => md5(joined(outer, md5(joined(inner, message))));
}

/** Adds one chunk of 64 bytes to the state. */
function mixChunk(state, words, offset) {
  let [a, b, c, d] = state;
  for (let step = 0; step < 64; step++) {
    const round = step >> 4;
    let mixed, word;
    if (round === 0) [mixed, word] = [(b & c) | (~b & d), step];
    else if (round === 1) [mixed, word] = [(d & b) | (~d & c), (5 * step + 1) & 15];
    else if (round === 2) [mixed, word] = [b ^ c ^ d, (3 * step + 5) & 15];
    else [mixed, word] = [c ^ (b | ~d), (7 * step) & 15];
    const sum = (a + mixed + SINES[step] + words.getInt32(offset + 4 * word, true)) | 0;
    const shift = SHIFTS[round][step & 3];
    [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
  }
  [a, b, c, d].forEach((word, index) => (state[index] = (state[index] + word) | 0));
}

function joined(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
