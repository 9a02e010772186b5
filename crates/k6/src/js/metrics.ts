// The module "k6/metrics".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("metrics");

class Metric {
  name: string;
  #number: number;

  constructor(kind: string, name: string, isTime: boolean) {
    this.name = String(name);
    this.#number = k6.declareMetric(this.name, kind, isTime);
  }

  add(value: any, tags?: any) {
    const number = value === null ? NaN : Number(value);
    if (!Number.isFinite(number)) {
      console.warn(`the metric ${this.name} was given ${value}, which is not a number: nothing is recorded`);
      return false;
    }
    k6.addMetric(this.#number, number, tags);
    return true;
  }
}

export class Trend extends Metric {
  constructor(name: string, isTime?: boolean) {
    super("trend", name, Boolean(isTime));
  }
}

export class Counter extends Metric {
  constructor(name: string) {
    super("counter", name, false);
  }
}

export class Gauge extends Metric {
  constructor(name: string) {
    super("gauge", name, false);
  }
}

export class Rate extends Metric {
  constructor(name: string) {
    super("rate", name, false);
  }
}

export default { Trend, Counter, Gauge, Rate };
