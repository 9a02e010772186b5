// Converts shares of an axis to positions in a picture.

export const percent = (share: number): string => `${+(100 * share).toFixed(3)}%`;

/** Pictures count downwards. */
export const upwards = (share: number): string => percent(1 - share);
