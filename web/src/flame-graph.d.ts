// The parts of d3-flame-graph that the page uses. The package has no types.

declare module "d3-flame-graph" {
  /** A frame in the graph. */
  interface Frame<T> {
    data: T;
    /** Sum over all frames above it; likewise for its change. */
    value: number;
    delta?: number;
    highlight?: boolean;
    parent: Frame<T> | null;
  }
  interface FlameGraph<T> {
    (selection: import("d3-selection").Selection<HTMLElement, T, null, undefined>): void;
    width(pixels: number): this;
    cellHeight(pixels: number): this;
    minFrameSize(pixels: number): this;
    transitionDuration(milliseconds: number): this;
    selfValue(is: boolean): this;
    computeDelta(is: boolean): this;
    inverted(is: boolean): this;
    sort(by: (a: Frame<T>, b: Frame<T>) => number): this;
    setLabelHandler(label: (frame: Frame<T>) => string): this;
    setColorMapper(color: (frame: Frame<T>) => string): this;
    setSearchMatch(matches: (frame: Frame<T>, term: string) => boolean): this;
    setSearchHandler(found: (frames: Frame<T>[], sum: number, total: number) => void): this;
    onClick(clicked: (frame: Frame<T>) => void): this;
    search(term: string): void;
    clear(): void;
    resetZoom(): void;
    destroy(): void;
  }
  export default function flamegraph<T>(): FlameGraph<T>;
}

declare module "d3-selection" {
  interface Selection<E extends Element, T, P, Q> {
    datum<U>(data: U): Selection<E, U, P, Q>;
    call(use: (selection: this) => void): this;
  }
  export function select<E extends Element>(place: E): Selection<E, unknown, null, undefined>;
}
