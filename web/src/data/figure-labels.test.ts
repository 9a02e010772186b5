import { expect, test } from "vitest";
import { crossings, placed, type Point } from "./figure-labels";

const AREA = { left: 58, right: 500, top: 2, bottom: 150 };

test("a label above a free level stays above its middle", () => {
  const [label] = placed([{ text: "limit 8", from: 100, to: 300, y: 80 }], [], AREA);
  expect(label!.y).toBeLessThan(80);
  expect(label!.x).toBeGreaterThan(150);
  expect(label!.x).toBeLessThan(200);
});

test("a label avoids the curve that crosses its level, and other labels", () => {
  // Times that rise in steps through the level, as under a growing queue.
  const steps: Point[] = Array.from({ length: 12 }, (_, i): Point[] => [[380 + i * 10, 140 - i * 11], [390 + i * 10, 140 - i * 11]]).flat();
  const wanted = [{ text: "high load 507 ms", from: 400, to: 470, y: 80 }, { text: "low load 40.7 ms", from: 400, to: 470, y: 84 }];
  const labels = placed(wanted, [steps], AREA);
  const boxes = labels.map(({ x, y, text }) => ({ left: x, right: x + text.length * 6.7, top: y - 10, bottom: y + 3 }));
  for (const box of boxes) {
    expect(crossings(steps, box)).toBe(0);
    expect(box.left).toBeGreaterThanOrEqual(AREA.left);
    expect(box.right).toBeLessThanOrEqual(AREA.right);
  }
  const [a, b] = boxes;
  expect(a!.left < b!.right && b!.left < a!.right && a!.top < b!.bottom && b!.top < a!.bottom).toBe(false);
});

test("a segment touches a box that it passes through, although both ends are outside", () => {
  const box = { left: 10, right: 20, top: 10, bottom: 20 };
  expect(crossings([[0, 15], [30, 15]], box)).toBe(1);
  expect(crossings([[15, 0], [15, 30]], box)).toBe(1);
  expect(crossings([[0, 0], [30, 5]], box)).toBe(0);
  expect(crossings([[0, 12], [12, 0]], box)).toBe(0);
});
