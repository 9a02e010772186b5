package lab.payments;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class PaymentController {
    private final Payments payments;

    PaymentController(Payments payments) {
        this.payments = payments;
    }

    record Asked(long account, long amount, String key) {}

    record Answer(long payment, String status) {}

    @PostMapping("/v1/payments")
    @ResponseStatus(HttpStatus.CREATED)
    Answer pay(@RequestBody Asked asked) {
        return new Answer(payments.pay(asked.account(), asked.amount(), asked.key()), "authorised");
    }
}
