export const first: string = "a";
