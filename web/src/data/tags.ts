// Tags as text.
import type { Tags } from "../generated/summary";

/** `country=DE, type=static`; empty without tags. */
export function tagsText(tags: Tags | undefined): string {
  return Object.entries(tags ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");
}
