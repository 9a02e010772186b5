import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Semaphore;

/** A service on the JVM for the tests of its observer: one thread holds the only permit and waits for a response, four wait for the permit, one for a lock, and one computes for three tenths of the time. */
public class App {
    static final Semaphore permits = new Semaphore(1);
    static final Object stock = new Object();
    static int port;

    static void insert() {
        try {
            permits.acquire();
            try (Socket socket = new Socket("127.0.0.1", port)) {
                socket.getInputStream().read();
            }
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    static void take() {
        synchronized (stock) {
            throw new IllegalStateException("nobody gives it back");
        }
    }

    static void hold() {
        synchronized (stock) {
            while (true) {
                try {
                    Thread.sleep(60_000);
                } catch (InterruptedException ended) {
                    return;
                }
            }
        }
    }

    static volatile long digest;

    static void score() {
        long until = System.nanoTime() + 30_000_000;
        while (System.nanoTime() < until) digest = digest * 31 + 7;
    }

    static void scoreAll() {
        try {
            for (; ; Thread.sleep(70)) score();
        } catch (InterruptedException ended) {
            return;
        }
    }

    static void start(String name, Runnable work) throws Exception {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() == Thread.State.NEW) Thread.sleep(1);
    }

    public static void main(String[] arguments) throws Exception {
        ServerSocket silent = new ServerSocket(Integer.parseInt(arguments[0]));
        port = silent.getLocalPort();
        for (int number = 1; number <= 5; number++) start("exec-" + number, App::insert);
        start("holder", App::hold);
        Thread.sleep(100);
        start("exec-6", App::take);
        start("scorer", App::scoreAll);
        while (true) silent.accept();
    }
}
