package shop;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/** The faults that a service carries in itself, around each of its requests. See ../../README.md for what each setting means. */
final class Faults {
    /** What answers instead of the request's own handler. */
    static final class Refused extends Exception {
        final int status;

        Refused(int status) {
            super("status " + status, null, false, false);
            this.status = status;
        }
    }

    interface Handler {
        String answer() throws Exception;
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Written, so that no collector or compiler drops what is computed. */
    static volatile long digest;

    private final ReentrantLock mutex = new ReentrantLock(true);
    private final List<byte[]> kept = new ArrayList<>();
    private long firstNs;
    private long limitedNs = System.nanoTime();
    private long second;
    private int count;

    /** A number of the fault; 0 where it is not set. */
    static double setting(String name) {
        return Double.parseDouble(System.getProperty("fault." + name, "0"));
    }

    static boolean has(String name) {
        return System.getProperty("fault." + name) != null;
    }

    static void sleep(double ms) throws InterruptedException {
        if (ms > 0) Thread.sleep((long) ms, (int) (ms % 1 * 1e6));
    }

    String around(String name, Handler handler) throws Exception {
        double elapsed = begin();
        if (has("stall.every") && elapsed >= setting("stall.every")) {
            double into = elapsed % setting("stall.every") * 1000;
            if (into < setting("stall.ms")) sleep(setting("stall.ms") - into);
        }
        rateLimited();
        fail(name, elapsed);
        if (elapsed < setting("warmUp.seconds")) sleep(setting("warmUp.ms") * (1 - elapsed / setting("warmUp.seconds")));
        // How many requests are worked on at a time is the number of the server's threads.
        sleep(setting("work"));
        if (!has("mutex") || !name.equals("Buy")) return handler.answer();
        mutex.lock();
        try {
            sleep(setting("mutex"));
            return handler.answer();
        } finally {
            mutex.unlock();
        }
    }

    private synchronized double begin() {
        if (firstNs == 0) firstNs = System.nanoTime();
        if (has("leak")) kept.add(new byte[(int) setting("leak")]);
        if (has("live")) {
            // Long-lived, and replaced piece by piece: the old generation stays full, and new garbage comes.
            while (kept.size() < setting("live")) kept.add(new byte[1 << 20]);
            for (int piece = 0; piece < setting("garbage"); piece++) {
                kept.set(ThreadLocalRandom.current().nextInt(kept.size()), new byte[1 << 20]);
            }
        }
        return (System.nanoTime() - firstNs) / 1e9;
    }

    /** Computes for as long as a login of this service takes: CPU time of its thread, which others cannot shorten. */
    static String login() {
        long end = THREADS.getCurrentThreadCpuTime() + (long) (setting("cpu") * 1e6);
        long sum = 0;
        do {
            for (int round = 0; round < 1000; round++) sum = sum * 31 + round;
        } while (THREADS.getCurrentThreadCpuTime() < end);
        digest = sum;
        return "" + sum;
    }

    /** One place every 1 / perSecond; what comes early waits for its place, or is refused beyond a burst of five. */
    private void rateLimited() throws Exception {
        if (!has("limit.perSecond")) return;
        long wait;
        long gap = (long) (1e9 / setting("limit.perSecond"));
        synchronized (this) {
            long now = System.nanoTime();
            limitedNs = Math.max(limitedNs, now);
            wait = limitedNs - now;
            if (!has("limit.delay") && wait > 5 * gap) throw new Refused(429);
            limitedNs += gap;
        }
        if (has("limit.delay")) sleep(wait / 1e6);
    }

    private void fail(String name, double elapsed) throws Refused {
        boolean other = has("errors.request") && !System.getProperty("fault.errors.request").equals(name);
        if (other || elapsed < setting("errors.from")) return;
        if (has("errors.above")) {
            synchronized (this) {
                long now = System.currentTimeMillis() / 1000;
                count = now == second ? count + 1 : 1;
                second = now;
                if (count > setting("errors.above")) throw new Refused(503);
            }
        } else if (ThreadLocalRandom.current().nextDouble() < setting("errors.share")) {
            throw new Refused(500);
        }
    }
}
