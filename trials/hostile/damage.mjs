// Damaged copies of valid messages: what a fuzz target does to a parser, done to the whole program.

/** What is put into a message: numbers at the limits of their types, brackets, quotes, escapes and bytes that are not UTF-8. */
const PIECES = ["-1", "0", "1e999", "18446744073709551616", "NaN", "null", "[[[[[[[[", "{\"a\":", "\"", "\\u0000", "\\ud800", "\0", "\x1b[2J", "../../etc/passwd", "x".repeat(5_000)]
  .map((text) => Buffer.from(text)).concat([Buffer.from([0xff, 0xfe, 0xc0, 0x80])]);

/** `count` damaged copies of the messages, in turn, each with one to four changes. The same seed gives the same copies. */
export function damaged(messages, count, seed) {
  const below = generator(seed);
  return Array.from({ length: count }, (_, number) => {
    let bytes = Buffer.from(messages[number % messages.length]);
    for (let changes = 1 + below(4); changes > 0; changes -= 1) bytes = changed(bytes, below);
    return bytes;
  });
}

function changed(bytes, below) {
  const at = below(bytes.length + 1);
  const end = at + below(Math.min(bytes.length - at, 40) + 1);
  const [front, part, back] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (below(6)) {
    case 0: return Buffer.concat([front, back]);
    case 1: return Buffer.concat([front, part, part, back]);
    case 2: return Buffer.concat([front, PIECES[below(PIECES.length)], part, back]);
    case 3: return Buffer.concat([front, PIECES[below(PIECES.length)], back]);
    case 4: return front;
    default: return Buffer.concat([front, part.map((byte) => byte ^ (1 << below(8))), back]);
  }
}

/** Numbers from 0 to below the limit: the generator mulberry32 by Tommy Ettinger. */
function generator(seed) {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
  };
}
