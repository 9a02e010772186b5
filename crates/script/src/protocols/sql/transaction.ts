// `sql.transaction(…)`: begins, runs the statements of a function, and commits. Rolls back if a statement failed or the function threw.
import { show } from "loadstone:values";

async function transaction(this: any, steps: (transaction: any) => unknown, options?: any) {
  if (typeof steps !== "function") throw new TypeError(`transaction(…): the first argument is the function with its statements, not ${show(steps)}`);
  const open = await this.begin(options);
  let value;
  try {
    if (open.open) value = await steps(open);
    if (open.open) await (open.ok ? open.commit() : open.rollback());
  } catch (error) {
    if (open.open) await open.rollback();
    throw error;
  } finally {
    open.leave();
  }
  return { ok: open.ok, committed: open.committed, error: open.error, code: open.code, value };
}

Object.defineProperty(__loadstone.sqlPrototype, "transaction", { value: transaction, writable: true, configurable: true });
