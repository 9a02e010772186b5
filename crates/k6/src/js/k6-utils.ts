// The functions of https://jslib.k6.io/k6-utils.
import exec from "k6/execution";
declare const globalThis: any;

export const randomIntBetween = (min: number, max: number) => Math.floor(Math.random() * (max - min + 1) + min);
export const randomItem = (list: any[]) => list[Math.floor(Math.random() * list.length)];
export const uuidv4 = (_secure = false) => globalThis.crypto.randomUUID();

export function randomString(length: number, charset = "abcdefghijklmnopqrstuvwxyz") {
  let text = "";
  while (length--) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

export function findBetween(content: string, left: string, right: string, repeat = false): any {
  const found: string[] = [];
  let at = 0;
  for (;;) {
    const start = content.indexOf(left, at);
    if (start < 0) break;
    const end = content.indexOf(right, start + left.length);
    if (end < 0) break;
    found.push(content.slice(start + left.length, end));
    if (!repeat) break;
    at = end + right.length;
  }
  return repeat ? found : found.length > 0 ? found[0] : null;
}

const UNITS_MS: Record<string, number> = { d: 86400000, h: 3600000, m: 60000, s: 1000, ms: 1 };

/** `1d5h31m20s7ms` in milliseconds. A number counts milliseconds. */
export function parseDuration(text: string): number {
  if (text === undefined || text === null || text.length === 0) throw new Error("str is empty");
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  let [sum, rest] = [0, text];
  for (let part; (part = /^(\d+(?:\.\d+)?)(ms|[dhms])/.exec(rest)); rest = rest.slice(part[0].length)) sum += Number(part[1]) * UNITS_MS[part[2]];
  if (rest !== "") throw new Error(`${rest} is an unsupported time unit`);
  return sum;
}

const stages = (): any[] => {
  const { scenarios, stages: shortcut } = exec.test.options;
  const scenario = scenarios?.[exec.scenario.name] ?? (shortcut ? { executor: "ramping-vus", stages: shortcut } : undefined);
  if (scenario === undefined) throw new Error(`the exec.test.options object doesn't contain the current scenario ${exec.scenario.name}`);
  if (!scenario.stages)
    throw new Error("only ramping-vus or ramping-arrival-rate supports stages, it is not possible to get a stage index on other executors.");
  if (scenario.stages.length < 1) throw new Error(`the current scenario ${exec.scenario.name} doesn't contain any stage`);
  return scenario.stages;
};

/** The index of the running stage. */
export function getCurrentStageIndex(): number {
  const all = stages();
  const elapsed = Date.now() - exec.scenario.startTime;
  let end = 0;
  for (let index = 0; index < all.length; index++) {
    end += parseDuration(String(all[index].duration));
    if (elapsed < end) return index;
  }
  return all.length - 1;
}

export function tagWithCurrentStageIndex() {
  (exec.vu.tags as any).stage = getCurrentStageIndex();
}

/** `ramp-up`, `steady` or `ramp-down`, by the targets of the running stage and the one before it. */
export function tagWithCurrentStageProfile() {
  const index = getCurrentStageIndex();
  const all = stages();
  const [before, now] = [index === 0 ? 0 : all[index - 1].target, all[index].target];
  (exec.vu.tags as any).stage_profile = now > before ? "ramp-up" : now < before ? "ramp-down" : "steady";
}

/** Stages whose targets follow a normal distribution. */
export function normalDistributionStages(maxVus: number, durationSeconds: number, numberOfStages = 10): any[] {
  const density = (mean: number, deviation: number, x: number) =>
    Math.exp(-0.5 * Math.log(2 * Math.PI) - Math.log(deviation) - (x - mean) ** 2 / (2 * deviation * deviation));
  const points = Array.from({ length: numberOfStages + 2 }, (_, index) => density(0, 1, -2 + (4 * index) / numberOfStages));
  const peak = Math.max(...points);
  const result: any[] = [];
  for (let index = 0; index <= numberOfStages; index++) {
    const edge = index === 0 || index === numberOfStages;
    result.push({
      duration: `${Math.ceil(durationSeconds / (edge ? 8 : numberOfStages - 1))}s`,
      target: Math.ceil((maxVus * points[index]) / peak),
    });
  }
  return [...result, { duration: `${Math.ceil(durationSeconds / numberOfStages)}s`, target: 0 }];
}
