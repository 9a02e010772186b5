// Settings of a lab as environment variables: read, or refused with what was expected.

/** A number from 1 to 9999; `otherwise` where the variable is not set. */
export function count(environment, name, otherwise) {
  return read(environment, name, otherwise, /^[1-9][0-9]{0,3}$/, "a number from 1 to 9999", Number);
}

/** One of two words, the healthy one first: whether it is that one. */
export function isHealthy(environment, name, words) {
  return read(environment, name, true, new RegExp(`^(${words.join("|")})$`), words.join(" or "), (word) => word === words[0]);
}

/** A share such as `1%`; 0 where the variable is not set. */
export function share(environment, name) {
  return read(environment, name, 0, /^[0-9]{1,2}(\.[0-9]+)?%$/, "a share such as 1%", (text) => Number(text.slice(0, -1)) / 100);
}

function read(environment, name, otherwise, form, takes, make) {
  const text = environment[name] ?? "";
  if (text === "") return otherwise;
  if (!form.test(text)) throw new Error(`${name}=${text}: expected ${takes}`);
  return make(text);
}
