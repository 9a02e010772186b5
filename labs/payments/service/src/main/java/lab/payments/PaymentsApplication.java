package lab.payments;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/** Takes payments: one process of it is one "pod". */
@SpringBootApplication
@EnableScheduling
public class PaymentsApplication {
    public static void main(String[] arguments) {
        SpringApplication.run(PaymentsApplication.class, arguments);
    }
}
