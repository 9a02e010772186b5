// The module "k6/timers".
declare const globalThis: any;
export const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
export default { setTimeout, setInterval, clearTimeout, clearInterval };
