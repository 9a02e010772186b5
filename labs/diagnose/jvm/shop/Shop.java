package shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/** The little shop on the JVM: its own HTTP server with a pool of threads, HikariCP and PostgreSQL. */
public final class Shop {
    private final Faults faults = new Faults();
    private final HikariDataSource pool;
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String provider = System.getenv("PROVIDER_URL");

    public static void main(String[] arguments) throws Exception {
        new Shop().serve();
    }

    private Shop() {
        URI database = URI.create(System.getenv("DATABASE_URL"));
        HikariConfig configuration = new HikariConfig();
        configuration.setJdbcUrl("jdbc:postgresql://" + database.getHost() + ":" + database.getPort() + database.getPath());
        configuration.setUsername(database.getUserInfo());
        configuration.setMaximumPoolSize(Faults.has("pool") ? (int) Faults.setting("pool") : 20);
        configuration.setMinimumIdle(1);
        configuration.setConnectionTimeout(60_000);
        pool = new HikariDataSource(configuration);
    }

    private void serve() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 4096);
        server.setExecutor(Executors.newFixedThreadPool(Faults.has("workers") ? (int) Faults.setting("workers") : 100));
        route(server, "/list", "List", query -> rows("select name, price from products order by id limit 20"));
        route(server, "/item", "Item", query -> rows("select name, price from products where code = ?", query.substring("code=".length())));
        route(server, "/login", "Login", query -> Faults.login());
        route(server, "/buy", "Buy", query -> buy());
        route(server, "/report", "Report", query -> report());
        server.createContext("/metrics", exchange -> answer(exchange, 200, metrics()));
        server.start();
        System.out.println("listening " + server.getAddress().getPort());
    }

    private interface Handler {
        String answer(String query) throws Exception;
    }

    private void route(HttpServer server, String path, String name, Handler handler) {
        server.createContext(path, exchange -> {
            int status = 200;
            String text;
            try {
                text = faults.around(name, () -> handler.answer(exchange.getRequestURI().getQuery()));
            } catch (Faults.Refused refused) {
                status = refused.status;
                text = "refused";
            } catch (Exception | OutOfMemoryError error) {
                status = 500;
                text = String.valueOf(error);
            }
            answer(exchange, status, text);
        });
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getRequestBody().readAllBytes();
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private String rows(String statement, Object... values) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return rows(connection, statement, values);
        }
    }

    private static String rows(Connection connection, String statement, Object... values) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            for (int index = 0; index < values.length; index++) prepared.setObject(index + 1, values[index]);
            StringBuilder text = new StringBuilder();
            if (!prepared.execute()) return "";
            ResultSet rows = prepared.getResultSet();
            while (rows.next()) text.append(rows.getString(1)).append(' ').append(rows.getString(2)).append('\n');
            return text.toString();
        }
    }

    private String buy() throws Exception {
        for (int asked = 0; !paid(); asked++) if (asked >= Faults.setting("retries")) throw new Faults.Refused(504);
        int product = Faults.has("rowLock") ? 1 : ThreadLocalRandom.current().nextInt(1, 1001);
        double held = Faults.has("rowLock") ? Faults.setting("rowLock") : Faults.setting("query");
        Connection connection = pool.getConnection();
        try {
            connection.setAutoCommit(false);
            rows(connection, "update products set stock = stock - 1 where id = ?", product);
            if (held > 0) rows(connection, "select 1, pg_sleep(?)", held / 1000);
            rows(connection, "insert into orders (product) values (?)", product);
            connection.commit();
            return "bought";
        } finally {
            if (ThreadLocalRandom.current().nextDouble() >= Faults.setting("unreturned")) connection.close();
        }
    }

    /** Asks the payment provider; false where it takes too long. */
    private boolean paid() throws IOException, InterruptedException {
        HttpRequest.Builder call = HttpRequest.newBuilder(URI.create(provider + "/pay"));
        if (Faults.has("timeout")) call.timeout(Duration.ofMillis((long) Faults.setting("timeout")));
        try {
            client.send(call.build(), HttpResponse.BodyHandlers.ofString());
            return true;
        } catch (HttpTimeoutException late) {
            return false;
        }
    }

    private String report() throws SQLException {
        for (int order = 0; order < Faults.setting("commits"); order++) rows("insert into orders (product) values (1)");
        if (!Faults.has("statements")) return rows("select category, sum(price) from products where id <= 100 group by category");
        StringBuilder text = new StringBuilder();
        try (Connection connection = pool.getConnection()) {
            for (int number = 0; number < Faults.setting("statements"); number++) {
                text.append(rows(connection, "select category, price from products where id = ?", 1 + number % 1000));
            }
        }
        return text.toString();
    }

    /** As Micrometer names them. */
    private String metrics() {
        var state = pool.getHikariPoolMXBean();
        double collecting = ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum() / 1e3;
        var old = ManagementFactory.getMemoryPoolMXBeans().stream().filter(one -> one.getName().equals("Tenured Gen")).findFirst().orElseThrow().getUsage();
        return gauge("hikaricp_connections_max", pool.getMaximumPoolSize())
                + gauge("hikaricp_connections_active", state.getActiveConnections())
                + gauge("hikaricp_connections_idle", state.getIdleConnections())
                + gauge("hikaricp_connections_pending", state.getThreadsAwaitingConnection())
                + gauge("jvm_memory_used_bytes", "{area=\"heap\",id=\"Tenured Gen\"}", old.getUsed())
                + gauge("jvm_memory_max_bytes", "{area=\"heap\",id=\"Tenured Gen\"}", old.getMax())
                + "# TYPE jvm_gc_pause_seconds_sum counter\njvm_gc_pause_seconds_sum " + collecting + "\n";
    }

    private static String gauge(String name, double value) {
        return gauge(name, "", value);
    }

    private static String gauge(String name, String labels, double value) {
        return "# TYPE " + name + " gauge\n" + name + labels + " " + value + "\n";
    }
}
