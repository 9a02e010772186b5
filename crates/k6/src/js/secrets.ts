// The module "k6/secrets".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("secrets");

const of = (source: string | null) => ({ get: async (key: unknown): Promise<string> => k6.secret(source, String(key)) });

export const { get } = of(null);

export function source(name: unknown) {
  if (!k6.hasSecretSource(String(name))) throw new Error(`no secret source with name "${name}" is configured`);
  return of(String(name));
}

export default { get, source };
