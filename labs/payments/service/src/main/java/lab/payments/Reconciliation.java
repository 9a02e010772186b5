package lab.payments;

import java.util.List;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Looks for payments that got stuck on the way, and closes them. */
@Component
class Reconciliation {
    private static final String STUCK =
            "select id from payments where status in ('created', 'authorising') and created_at < now() - interval 60 second limit 50";
    private final JdbcTemplate database;

    Reconciliation(JdbcTemplate database) {
        this.database = database;
    }

    @Scheduled(fixedDelay = 500)
    void reconcile() {
        List<Long> stuck = database.queryForList(STUCK, Long.class);
        stuck.forEach(payment -> database.update("update payments set status = 'abandoned' where id = ?", payment));
    }
}
