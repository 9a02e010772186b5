// Where the labels of levels are drawn in a picture: the first place in which they cover no line and no other label.

export type Point = [x: number, y: number];

/** A horizontal level that needs a label. Pixels. */
export interface Wanted {
  text: string;
  from: number;
  to: number;
  y: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface PlacedLabel {
  text: string;
  /** Left end and baseline. */
  x: number;
  y: number;
}

/** Of the bold font of 12 px: the mean width of a character, the height above the baseline and below it, and the gap to a line. */
const [CHARACTER, ASCENT, DESCENT, GAP] = [6.7, 10, 3, 4];
const GAP_TO_SIDE = 8;

/** The labels in the order of the levels. `drawn`: the polylines of the picture. `area`: where labels may be. */
export function placed(wanted: readonly Wanted[], drawn: readonly Point[][], area: Box): PlacedLabel[] {
  const taken: Box[] = [];
  return wanted.map((one) => {
    const width = one.text.length * CHARACTER;
    const candidates = candidatesFor(one, width).map(({ x, y }) => {
      const left = Math.min(Math.max(x, area.left + 2), area.right - width);
      const baseline = Math.min(Math.max(y, area.top + ASCENT), area.bottom - DESCENT);
      return { left, right: left + width, top: baseline - ASCENT, bottom: baseline + DESCENT };
    });
    const cost = (box: Box) =>
      drawn.reduce((sum, line) => sum + crossings(line, box), 0) + 100 * taken.filter((other) => overlap(box, other)).length;
    const best = candidates.reduce((least, box) => (cost(box) < cost(least) ? box : least));
    taken.push(best);
    return { text: one.text, x: best.left, y: best.bottom - DESCENT };
  });
}

/** Above and below the level at its middle and ends, then next to it, the preferred ones first. */
function candidatesFor({ from, to, y }: Wanted, width: number): { x: number; y: number }[] {
  const [above, below, level] = [y - GAP - DESCENT + 1, y + GAP + ASCENT, y + ASCENT / 2 - 1];
  const middle = (from + to) / 2 - width / 2;
  return [
    ...[middle, from, to - width].flatMap((x) => [{ x, y: above }, { x, y: below }]),
    ...[level, above, below].flatMap((y) => [{ x: from - width - GAP_TO_SIDE, y }, { x: to + GAP_TO_SIDE, y }]),
    ...[middle, from, to - width].flatMap((x) => [{ x, y: above - 14 }, { x, y: below + 14 }]),
  ];
}

/** Number of segments of a polyline that touch a box. */
export function crossings(line: readonly Point[], box: Box): number {
  let count = 0;
  for (let i = 1; i < line.length; i++) if (touches(line[i - 1]!, line[i]!, box)) count++;
  return count;
}

/** Liang and Barsky, "A new concept and method for line clipping", 1984. */
function touches([x0, y0]: Point, [x1, y1]: Point, box: Box): boolean {
  let [enter, leave] = [0, 1];
  for (const [by, room] of [[x0 - x1, x0 - box.left], [x1 - x0, box.right - x0], [y0 - y1, y0 - box.top], [y1 - y0, box.bottom - y0]] as Point[]) {
    if (by === 0 && room < 0) return false;
    if (by < 0) enter = Math.max(enter, room / by);
    if (by > 0) leave = Math.min(leave, room / by);
  }
  return enter <= leave;
}

const overlap = (a: Box, b: Box): boolean => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
