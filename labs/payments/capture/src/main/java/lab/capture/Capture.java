package lab.capture;

import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Follows the binary log as a replica would, and writes each changed row to Kafka: one message per row, rows of one key in order. */
public final class Capture {
    private static final String TOPIC = "changes";

    private final KafkaProducer<String, String> kafka;
    /** Names of the tables that events speak of by number. */
    private final Map<Long, String> tables = new HashMap<>();

    private Capture(KafkaProducer<String, String> kafka) {
        this.kafka = kafka;
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(System.getenv("DATABASE_PORT"));
        Map<String, Object> producer = Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("KAFKA_BROKER"),
                ProducerConfig.ACKS_CONFIG, "all",
                ProducerConfig.LINGER_MS_CONFIG, 20,
                ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
                ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        Capture capture = new Capture(new KafkaProducer<>(producer));
        BinaryLogClient log = new BinaryLogClient("127.0.0.1", port, "capture", "");
        log.setServerId(2);
        log.registerEventListener(capture::take);
        log.registerLifecycleListener(new BinaryLogClient.AbstractLifecycleListener() {
            @Override
            public void onConnect(BinaryLogClient client) {
                System.out.println("listening 0");
            }
        });
        // Returns when the database has gone.
        log.connect();
    }

    private void take(Event event) {
        EventData data = event.getData();
        if (data instanceof TableMapEventData table) {
            tables.put(table.getTableId(), table.getTable());
        } else if (data instanceof WriteRowsEventData written) {
            written.getRows().forEach(row -> send(written.getTableId(), "insert", row));
        } else if (data instanceof UpdateRowsEventData updated) {
            updated.getRows().forEach(change -> send(updated.getTableId(), "update", change.getValue()));
        } else if (data instanceof DeleteRowsEventData deleted) {
            deleted.getRows().forEach(row -> send(deleted.getTableId(), "delete", row));
        }
    }

    private void send(long table, String kind, Serializable[] row) {
        String name = tables.getOrDefault(table, "?");
        String values = String.join(",", Arrays.stream(row).map(Capture::json).toList());
        String message = "{\"table\":\"%s\",\"kind\":\"%s\",\"row\":[%s]}".formatted(name, kind, values);
        kafka.send(new ProducerRecord<>(TOPIC, name + "/" + row[0], message));
    }

    private static String json(Object value) {
        return value instanceof Number || value == null ? String.valueOf(value) : "\"" + String.valueOf(value).replace("\"", "\\\"") + "\"";
    }
}
