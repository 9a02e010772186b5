// What a service of a lab does around its own work: say where it listens, and end when it is told to or when the lab is gone.

/** Listens on PORT (0: any free one) of 127.0.0.1 and says so to whoever started this process. */
export async function listen(app) {
  endWithTheLab();
  // Thousands of clients may come at once; the kernel cuts this to net.core.somaxconn.
  await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT ?? 0), backlog: 4096 });
  process.send?.({ port: app.server.address().port });
}

/** Ends this process on SIGTERM, and with whoever started it. */
export function endWithTheLab() {
  const end = () => process.exit(0);
  process.once("SIGTERM", end);
  process.once("disconnect", end);
}
