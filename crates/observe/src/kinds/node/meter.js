// Evaluated in the observed process: what only the process itself can count. Nothing of it keeps the process alive, and it goes away by itself when nobody
// has asked for ten seconds: Loadstone may be killed.
((closesInspector) => {
  const key = Symbol.for("loadstone.meter");
  // One of a Loadstone that was killed a moment ago.
  closesInspector = globalThis[key]?.leave() || closesInspector;
  const load = (name) => (process.getBuiltinModule ?? require)(name);
  const { performance, PerformanceObserver, monitorEventLoopDelay } = load("perf_hooks");
  const v8 = load("v8");
  const inspector = load("inspector");

  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();

  let collecting = 0;
  let lived = 0;
  const collections = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      collecting += entry.duration;
      // What is left after a full collection is what lives.
      if ((entry.detail?.kind ?? entry.kind) === 4) lived = v8.getHeapStatistics().used_heap_size;
    }
  });
  collections.observe({ entryTypes: ["gc"] });

  let samples = 0;
  let types = {};
  let spent = 0;
  let timer;
  const sample = () => {
    const begin = performance.now();
    samples++;
    for (const type of process.getActiveResourcesInfo?.() ?? []) types[type] = (types[type] ?? 0) + 1;
    const took = performance.now() - begin;
    spent += took;
    // Ten times a second, at no beat; less often where it would take more than 0.2 % of the time.
    timer = setTimeout(sample, Math.max(50 + 100 * Math.random(), 500 * took)).unref();
  };
  sample();

  // Turns and not a clock: a process that was stopped for a while has not been left alone.
  let turns = 10;
  const watchdog = setInterval(() => --turns < 0 && stop(), 1000).unref();

  const leave = () => {
    clearTimeout(timer);
    clearInterval(watchdog);
    delay.disable();
    collections.disconnect();
    delete globalThis[key];
    return closesInspector;
  };
  // Delayed, so that the client has its answer and has disconnected: `close` waits for open connections.
  const stop = () => leave() && setTimeout(() => inspector.close(), 50) && true;

  const read = () => {
    turns = 10;
    const { idle, active } = performance.eventLoopUtilization();
    const heap = v8.getHeapStatistics();
    const cpu = process.cpuUsage();
    const reading = {
      active: active / 1e3,
      idle: idle / 1e3,
      cpu: (cpu.user + cpu.system) / 1e6,
      // Nanoseconds.
      delay: delay.count ? { count: delay.count, mean: delay.mean, deviation: delay.stddev, max: delay.max, resolution: resolution * 1e6 } : null,
      collecting: collecting / 1e3,
      heap: heap.used_heap_size,
      lived,
      heapMax: heap.heap_size_limit,
      samples,
      types,
      spent: spent / 1e3,
      threads: Number(process.env.UV_THREADPOOL_SIZE) || 4,
    };
    delay.reset();
    samples = 0;
    types = {};
    return reading;
  };

  Object.defineProperty(globalThis, key, { value: { read, stop, leave }, configurable: true });
  return process.version;
})
