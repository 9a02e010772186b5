// Slips in the names of verbs: `user.gett(…)` and `response.jsn(…)` say what was meant.
import { lenient, slip } from "loadstone:values";

lenient(__loadstone.userPrototype);
__loadstone.extractable.forEach(lenient);

/** What is wrong with a verb that is called on a user, as far as it can be known before there is one. */
__loadstone.misspeltVerb = (verb: string) => (verb in __loadstone.userPrototype ? undefined : slip(verb, __loadstone.userPrototype));
