// The module "k6/html": pages, selections and elements.
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("html");

type Matcher = (number: number, index: number) => boolean;

const unique = (numbers: number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

/** A value of a `data-` attribute. */
const dataValue = (text: string): any => {
  if (text === "true" || text === "false" || text === "null") return JSON.parse(text);
  if (text !== "" && String(Number(text)) === text) return Number(text);
  if (/^(\{[\s\S]*\}|\[[\s\S]*\])$/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
};
const camel = (name: string) => name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, "+");

/** Nodes of a page in document order. */
export class Selection {
  #page: any;
  #numbers: number[];
  /** The selection that this one was made from. */
  #previous?: Selection;
  url: string;

  constructor(page: any, numbers: number[], url = "", previous?: Selection) {
    this.#page = page;
    this.#numbers = numbers;
    this.url = url;
    this.#previous = previous;
  }

  static numbersOf(selection: Selection): number[] {
    return selection.#numbers;
  }

  #of(numbers: number[]): Selection {
    return new Selection(this.#page, numbers, this.url, this);
  }
  #element(number: number): Element {
    return new Element(this.#page, number, this.url);
  }
  #siblings(number: number): number[] {
    const parent = this.#page.parent(number);
    return parent === undefined ? [] : this.#page.children(parent, true);
  }
  #ancestors(number: number): number[] {
    const found: number[] = [];
    for (let at = this.#page.parent(number); at !== undefined; at = this.#page.parent(at)) if (at !== 0) found.push(at);
    return found;
  }
  /** A test for a selector, a selection, an element, or a function. */
  #matcher(wanted: any): Matcher {
    if (typeof wanted === "function") return (number, index) => Boolean(wanted(index, this.#of([number])));
    if (typeof wanted === "string") return (number) => this.#page.matching([number], wanted).length > 0;
    const numbers = wanted instanceof Selection ? wanted.#numbers : wanted instanceof Element ? [Element.numberOf(wanted)] : [];
    return (number) => numbers.includes(number);
  }
  #kept(numbers: number[], wanted?: any): Selection {
    if (wanted === undefined || wanted === null) return this.#of(numbers);
    return this.#of(numbers.filter(this.#matcher(wanted)));
  }
  /** The nodes that `step` yields from each node, up to the first that matches. */
  #until(step: (number: number) => number[], until?: any, filter?: any): Selection {
    const stops = until === undefined || until === null ? () => false : this.#matcher(until);
    const found: number[] = [];
    for (const number of this.#numbers) {
      for (const next of step(number)) {
        if (stops(next, 0)) break;
        found.push(next);
      }
    }
    return this.#kept(unique(found), filter);
  }
  #after(number: number): number[] {
    const siblings = this.#siblings(number);
    return siblings.slice(siblings.indexOf(number) + 1);
  }
  #before(number: number): number[] {
    const siblings = this.#siblings(number);
    return siblings.slice(0, siblings.indexOf(number)).reverse();
  }

  find(wanted: any): Selection {
    if (typeof wanted === "string") return this.#of(unique(this.#numbers.flatMap((number) => this.#page.select(number, wanted))));
    const inside = (number: number) => this.#ancestors(number).some((above) => this.#numbers.includes(above));
    const numbers = wanted instanceof Selection ? wanted.#numbers : wanted instanceof Element ? [Element.numberOf(wanted)] : [];
    return this.#of(numbers.filter((number) => this.#numbers.includes(0) || inside(number)));
  }
  add(wanted: any): Selection {
    const more = typeof wanted === "string" ? this.#page.select(0, wanted) : wanted instanceof Selection ? wanted.#numbers : [Element.numberOf(wanted)];
    return this.#of([...new Set([...this.#numbers, ...more])]);
  }
  filter(wanted: any): Selection { return this.#kept(this.#numbers, wanted); }
  not(wanted: any): Selection {
    const matches = this.#matcher(wanted);
    return this.#of(this.#numbers.filter((number, index) => !matches(number, index)));
  }
  is(wanted: any): boolean { return this.#numbers.some(this.#matcher(wanted)); }
  has(wanted: any): Selection {
    const inside = (number: number) => this.#of([number]).find(wanted).size() > 0;
    return this.#of(this.#numbers.filter(inside));
  }
  end(): Selection { return this.#previous ?? this.#of([]); }
  first(): Selection { return this.#of(this.#numbers.slice(0, 1)); }
  last(): Selection { return this.#of(this.#numbers.slice(-1)); }
  eq(index: number): Selection { return this.#of(this.#numbers.slice(index, index === -1 ? undefined : index + 1)); }
  slice(start: number, end?: number): Selection { return this.#of(this.#numbers.slice(start, end)); }
  children(wanted?: any): Selection {
    return this.#kept(unique(this.#numbers.flatMap((number) => this.#page.children(number, true))), wanted);
  }
  contents(): Selection { return this.#of(unique(this.#numbers.flatMap((number) => this.#page.children(number, false)))); }
  parent(wanted?: any): Selection { return this.#kept(unique(this.#numbers.flatMap((number) => this.#ancestors(number).slice(0, 1))), wanted); }
  parents(wanted?: any): Selection { return this.#kept(unique(this.#numbers.flatMap((number) => this.#ancestors(number))), wanted); }
  parentsUntil(until?: any, filter?: any): Selection { return this.#until((number) => this.#ancestors(number), until, filter); }
  closest(wanted: any): Selection {
    const matches = this.#matcher(wanted);
    const nearest = (number: number) => [number, ...this.#ancestors(number)].find((at) => matches(at, 0));
    return this.#of(unique(this.#numbers.map(nearest).filter((at) => at !== undefined) as number[]));
  }
  next(wanted?: any): Selection { return this.#kept(unique(this.#numbers.flatMap((number) => this.#after(number).slice(0, 1))), wanted); }
  nextAll(wanted?: any): Selection { return this.#until((number) => this.#after(number), undefined, wanted); }
  nextUntil(until?: any, filter?: any): Selection { return this.#until((number) => this.#after(number), until, filter); }
  prev(wanted?: any): Selection { return this.#kept(unique(this.#numbers.flatMap((number) => this.#before(number).slice(0, 1))), wanted); }
  prevAll(wanted?: any): Selection { return this.#until((number) => this.#before(number), undefined, wanted); }
  prevUntil(until?: any, filter?: any): Selection { return this.#until((number) => this.#before(number), until, filter); }
  siblings(wanted?: any): Selection {
    return this.#kept(unique(this.#numbers.flatMap((number) => this.#siblings(number).filter((other) => other !== number))), wanted);
  }
  index(wanted?: any): number {
    if (wanted === undefined) return this.#numbers.length > 0 ? this.#before(this.#numbers[0]).length : -1;
    if (typeof wanted === "string") return this.#page.select(0, wanted).indexOf(this.#numbers[0]);
    return this.#numbers.indexOf(wanted instanceof Selection ? wanted.#numbers[0] : Element.numberOf(wanted));
  }

  each(visit: (index: number, element: Element) => any): Selection {
    this.#numbers.forEach((number, index) => visit(index, this.#element(number)));
    return this;
  }
  map(convert: (index: number, selection: Selection) => any): any[] {
    return this.#numbers.map((number, index) => String(convert(index, this.#of([number]))));
  }
  get(index?: number): any {
    if (index === undefined) return this.#numbers.map((number) => this.#element(number));
    const number = this.#numbers.at(index);
    return number === undefined ? undefined : this.#element(number);
  }
  toArray(): Selection[] { return this.#numbers.map((number) => this.#of([number])); }
  size(): number { return this.#numbers.length; }

  attr(name: string, otherwise?: string): string | undefined {
    const value = this.#numbers.length > 0 ? this.#page.attribute(this.#numbers[0], String(name)) : undefined;
    return value ?? otherwise;
  }
  text(): string { return this.#numbers.map((number) => this.#page.text(number)).join(""); }
  html(): string { return this.#numbers.length > 0 ? this.#page.inner(this.#numbers[0]) : ""; }
  val(): any {
    if (this.#numbers.length === 0) return undefined;
    const number = this.#numbers[0];
    switch (this.#page.name(number)) {
      case "input":
        return this.attr("value") ?? (["checkbox", "radio"].includes(this.attr("type") ?? "") ? "on" : undefined);
      case "textarea":
        return this.html();
      case "button":
        return this.attr("value") ?? "";
      case "option":
        return this.attr("value") ?? this.html();
      case "select": {
        const chosen = this.find("option[selected]");
        if (this.attr("multiple") !== undefined) return chosen.map((_, option) => option.val());
        return (chosen.size() > 0 ? chosen.last() : this.find("option").first()).val();
      }
      default:
        return undefined;
    }
  }
  data(key?: string): any {
    if (this.#numbers.length === 0) return undefined;
    if (key !== undefined) {
      const text = this.attr(`data-${kebab(key)}`);
      return text === undefined ? undefined : dataValue(text);
    }
    const all: Record<string, any> = {};
    const list: string[] = this.#page.attributes(this.#numbers[0]);
    for (let at = 0; at < list.length; at += 2) if (list[at].startsWith("data-")) all[camel(list[at].slice(5))] = dataValue(list[at + 1]);
    return all;
  }

  serializeArray(): { name: string; value: any }[] {
    const fields = this.is("form") ? this.find("input,select,textarea,keygen") : this.filter("input,select,textarea,keygen");
    return fields.toArray().flatMap((field) => {
      const [name, type] = [field.attr("name") ?? "", (field.attr("type") ?? "").toLowerCase()];
      const checkable = type === "checkbox" || type === "radio";
      if (name === "" || field.attr("disabled") !== undefined || ["submit", "button", "reset", "image", "file"].includes(type)) return [];
      if (checkable && field.attr("checked") !== "checked") return [];
      const value = field.val();
      return value === undefined ? [] : [{ name, value }];
    });
  }
  serializeObject(): Record<string, any> {
    const object: Record<string, any> = {};
    for (const { name, value } of this.serializeArray()) object[name] = value;
    return object;
  }
  serialize(): string {
    const pairs = this.serializeArray().flatMap(({ name, value }) => [value].flat().map((one) => `${escaped(name)}=${escaped(String(one))}`));
    return pairs.sort((a, b) => (a.split("=")[0] < b.split("=")[0] ? -1 : a.split("=")[0] > b.split("=")[0] ? 1 : 0)).join("&");
  }
}

/** A node of a page. Its properties are functions, as in k6. */
export class Element {
  #page: any;
  #number: number;
  #url: string;

  constructor(page: any, number: number, url: string) {
    this.#page = page;
    this.#number = number;
    this.#url = url;
  }

  static numberOf(element: Element): number {
    return element.#number;
  }

  #at(number: number | undefined): Element | undefined {
    return number === undefined ? undefined : new Element(this.#page, number, this.#url);
  }
  #list(elements: boolean): number[] { return this.#page.children(this.#number, elements); }
  #sibling(step: number, elements: boolean): Element | undefined {
    const parent = this.#page.parent(this.#number);
    if (parent === undefined) return undefined;
    const all: number[] = this.#page.children(parent, false);
    const kind = (number: number) => !elements || !this.#page.name(number).startsWith("#");
    for (let at = all.indexOf(this.#number) + step; at >= 0 && at < all.length; at += step) if (kind(all[at])) return this.#at(all[at]);
    return undefined;
  }

  nodeName(): string { return this.#page.name(this.#number); }
  nodeType(): number { return { "#text": 3, "#comment": 8, "#document": 9 }[this.nodeName()] ?? 1; }
  nodeValue(): string | undefined { return this.#page.value(this.#number); }
  textContent(): string { return this.#page.text(this.#number); }
  innerHTML(): string { return this.#page.inner(this.#number); }
  getAttribute(name: string): string | undefined { return this.#page.attribute(this.#number, String(name)); }
  getAttributeNode(name: string): any { return this.attributes()[name]; }
  hasAttribute(name: string): boolean { return this.getAttribute(name) !== undefined; }
  hasAttributes(): boolean { return this.#page.attributes(this.#number).length > 0; }
  attributes(): Record<string, any> {
    const all: Record<string, any> = {};
    const list: string[] = this.#page.attributes(this.#number);
    for (let at = 0; at < list.length; at += 2) all[list[at]] = { owner_element: this, name: list[at], value: list[at + 1] };
    return all;
  }
  id(): string { return this.getAttribute("id") ?? ""; }
  className(): string { return this.getAttribute("class") ?? ""; }
  classList(): string[] { return this.className().split(/\s+/).filter(Boolean); }
  lang(): string | undefined { return this.getAttribute("lang"); }
  childNodes(): (Element | undefined)[] { return this.#list(false).map((number) => this.#at(number)); }
  children(): (Element | undefined)[] { return this.#list(true).map((number) => this.#at(number)); }
  childElementCount(): number { return this.#list(true).length; }
  hasChildNodes(): boolean { return this.#list(false).length > 0; }
  firstChild(): Element | undefined { return this.#at(this.#list(false)[0]); }
  lastChild(): Element | undefined { return this.#at(this.#list(false).at(-1)); }
  firstElementChild(): Element | undefined { return this.#at(this.#list(true)[0]); }
  lastElementChild(): Element | undefined { return this.#at(this.#list(true).at(-1)); }
  nextSibling(): Element | undefined { return this.#sibling(1, false); }
  previousSibling(): Element | undefined { return this.#sibling(-1, false); }
  nextElementSibling(): Element | undefined { return this.#sibling(1, true); }
  previousElementSibling(): Element | undefined { return this.#sibling(-1, true); }
  parentNode(): Element | undefined { return this.#at(this.#page.parent(this.#number)); }
  parentElement(): Element | undefined {
    const parent = this.parentNode();
    return parent?.nodeType() === 1 ? parent : undefined;
  }
  ownerDocument(): Element | undefined { return this.#at(0); }
  contains(other: Element): boolean {
    for (let at: number | undefined = other.#number; at !== undefined; at = this.#page.parent(at)) if (at === this.#number) return true;
    return false;
  }
  isSameNode(other: Element): boolean { return other.#number === this.#number && other.#page === this.#page; }
  isEqualNode(other: Element): boolean { return other.nodeName() === this.nodeName() && other.innerHTML() === this.innerHTML(); }
  matches(selector: string): boolean { return this.#page.matching([this.#number], selector).length > 0; }
  querySelector(selector: string): Element | undefined { return this.#at(this.#page.select(this.#number, selector)[0]); }
  querySelectorAll(selector: string): any[] { return this.#page.select(this.#number, selector).map((number: number) => this.#at(number)); }
  toString(): string { return this.getAttribute("href") ?? this.innerHTML(); }

  // Members of links, inputs and forms.
  #part(pattern: RegExp): string { return pattern.exec(this.href())?.[1] ?? ""; }
  href(): string { return this.getAttribute("href") ?? ""; }
  text(): string { return this.textContent(); }
  protocol(): string { return this.#part(/^([a-z][a-z0-9+.-]*):/i); }
  origin(): string { return this.host() === "" ? "" : `${this.protocol()}://${this.host()}`; }
  username(): string { return this.#part(/^[a-z]+:\/\/([^/@:]*)(?::[^/@]*)?@/i); }
  password(): string { return this.#part(/^[a-z]+:\/\/[^/@:]*:([^/@]*)@/i); }
  hostname(): string { return this.#part(/^[a-z]+:\/\/(?:[^/@]*@)?([^/:?#]*)/i); }
  host(): string { return this.#part(/^[a-z]+:\/\/(?:[^/@]*@)?([^/?#]*)/i); }
  port(): string { return this.#part(/^[a-z]+:\/\/[^/?#]*:(\d+)/i); }
  pathname(): string { return this.#part(/^(?:[a-z]+:\/\/[^/?#]*)?([^?#]*)/i); }
  search(): string { return this.#part(/^[^?#]*(\?[^#]*)/); }
  hash(): string { return this.#part(/^[^#]*(#.*)/); }
  name(): string { return this.getAttribute("name") ?? ""; }
  value(): any { return new Selection(this.#page, [this.#number], this.#url).val(); }
  type(): string { return this.getAttribute("type") ?? (this.nodeName() === "input" ? "text" : this.nodeName() === "button" ? "submit" : ""); }
  #integer(name: string, otherwise: number): number {
    const value = parseInt(this.getAttribute(name) ?? "", 10);
    return Number.isNaN(value) ? otherwise : value;
  }
  width(): number { return this.#integer("width", 0); }
  height(): number { return this.#integer("height", 0); }
  colSpan(): number { return this.#integer("colspan", 1); }
  rowSpan(): number { return this.#integer("rowspan", 1); }
  cellIndex(): number { return this.parentNode()?.children().findIndex((cell) => cell?.isSameNode(this)) ?? -1; }
  defaultChecked(): boolean { return this.checked(); }
  defaultSelected(): boolean { return this.selected(); }
  checked(): boolean { return this.hasAttribute("checked"); }
  selected(): boolean { return this.hasAttribute("selected"); }
  disabled(): boolean { return this.hasAttribute("disabled"); }
  required(): boolean { return this.hasAttribute("required"); }
  readonly(): boolean { return this.hasAttribute("readonly"); }
  multiple(): boolean { return this.hasAttribute("multiple"); }
  options(): Element[] { return this.querySelectorAll("option"); }
  selectedOptions(): Element[] { return this.options().filter((option) => option.selected()); }
  selectedIndex(): number { return this.options().findIndex((option) => option.selected()); }
  index(): number {
    let list = this.parentNode();
    if (list?.nodeName() === "optgroup") list = list.parentNode();
    return list?.options().findIndex((option) => option.isSameNode(this)) ?? -1;
  }
  elements(): Element[] { return this.querySelectorAll("input,select,button,textarea"); }
  length(): number {
    switch (this.nodeName()) {
      case "form":
        return this.elements().length;
      case "textarea":
        return this.textContent().length;
      default:
        return this.options().length;
    }
  }
  enctype(): string { return this.getAttribute("enctype") ?? "application/x-www-form-urlencoded"; }
  placeholder(): string { return this.getAttribute("placeholder") ?? ""; }
  src(): string { return this.getAttribute("src") ?? ""; }
  alt(): string { return this.getAttribute("alt") ?? ""; }
  rel(): string { return this.getAttribute("rel") ?? ""; }
  target(): string { return this.getAttribute("target") ?? ""; }
  action(): string { return this.getAttribute("action") ?? ""; }
  method(): string { return (this.getAttribute("method") ?? "get").toLowerCase(); }
  content(): string { return this.getAttribute("content") ?? ""; }
  form(): Element | undefined {
    for (let at = this.parentNode(); at !== undefined; at = at.parentNode()) if (at.nodeName() === "form") return at;
    return undefined;
  }
}

/** The document of a page. `url`: the address to which its links are relative. */
export function parseHTML(source: string, url = ""): Selection {
  return new Selection(k6.parseHtml(String(source)), [0], url);
}

// "k6/http" finds it here, because it loads this module only when a page is parsed: the module takes about 110 kB of memory in each VU.
k6.parseHTML = parseHTML;

export default { parseHTML, Selection, Element };
