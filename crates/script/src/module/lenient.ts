// Slips in the names of verbs: `user.gett(…)` and `response.jsn(…)` say what was meant.
import { lenient } from "loadstone:values";

lenient(__loadstone.userPrototype);
__loadstone.extractable.forEach(lenient);
