// The classes of https://jslib.k6.io/url.
declare const globalThis: any;

const before = { URL: globalThis.URL, URLSearchParams: globalThis.URLSearchParams };
globalThis.__k6.installUrl();
export const { URL, URLSearchParams } = globalThis;
// k6 has no such globals.
Object.assign(globalThis, before);
