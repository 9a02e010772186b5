// Stacking of columns for area charts.

type ColumnValues = readonly (number | null)[];

/** Running sums over the columns, bottom first. A hidden column adds nothing. A step without any value remains a gap. If only some columns have a
 * value, the others count as zero. */
export function stack(columns: readonly ColumnValues[], hidden: readonly boolean[]): (number | null)[][] {
  const length = columns[0]?.length ?? 0;
  const sums: number[] = new Array(length).fill(0);
  const gaps = Array.from({ length }, (_, step) => columns.every((values) => values[step] == null));
  return columns.map((values, index) =>
    sums.map((sum, step) => {
      if (gaps[step]) return null;
      if (!hidden[index]) sums[step] = sum + (values[step] ?? 0);
      return sums[step] as number;
    }),
  );
}
