// Misspelt verbs: `user.gett(…)` and `response.jsn(…)` throw an error with the probable name.
import { lenient, slip } from "loadstone:values";

lenient(__loadstone.userPrototype);
__loadstone.extractable.forEach(lenient);

/** The problem with a verb that is called on a user. Used before any user exists. */
__loadstone.misspeltVerb = (verb: string) => (verb in __loadstone.userPrototype ? undefined : slip(verb, __loadstone.userPrototype));
