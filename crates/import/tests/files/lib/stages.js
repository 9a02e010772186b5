export const gentle = [
  { duration: "1s", target: 2 },
  { duration: "2s", target: 2 },
];
