// Decisions of validators on their way to the database: gathered for a moment, then stored together.

/** A batch is stored after this time … */
const GATHER_MS = 100;
/** … or at this size. */
const BATCH_MAX = 5000;
/** Decisions that may wait. Beyond it the oldest are given up, and counted. */
const WAITING_MAX = 200_000;

export class DecisionLog {
  #pool;
  #waiting = [];
  #storing = false;
  #timer;
  stored = 0;
  lost = 0;

  constructor(pool) {
    this.#pool = pool;
  }

  get waiting() {
    return this.#waiting.length;
  }

  /** Takes a decision `{ validator, ticket, access }`; `stored` is called once it is in the database. */
  add(decision) {
    this.#waiting.push(decision);
    if (this.#waiting.length > WAITING_MAX) {
      this.lost += this.#waiting.length - WAITING_MAX;
      this.#waiting.splice(0, this.#waiting.length - WAITING_MAX);
    }
    this.#timer ??= setTimeout(() => void this.#store(), GATHER_MS);
  }

  async #store() {
    this.#timer = undefined;
    if (this.#storing) return;
    this.#storing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      try {
        await this.#pool.query("insert into decisions (validator, ticket, access) select * from unnest($1::text[], $2::text[], $3::boolean[])", [
          batch.map(({ validator }) => validator),
          batch.map(({ ticket }) => ticket),
          batch.map(({ access }) => access),
        ]);
        this.stored += batch.length;
        for (const { stored } of batch) stored?.();
      } catch (error) {
        this.lost += batch.length;
        console.error(`decisions: ${error.message}`);
      }
    }
    this.#storing = false;
  }
}
