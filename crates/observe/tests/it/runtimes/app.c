// A service whose CPU time goes to two functions, three quarters and one quarter; a thread that begins when somebody connects is a third.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static volatile uint64_t sink;

// A sum on the stack: GCC makes no frame for a function that calls no other and has nothing there, whatever its flags say.
__attribute__((noinline)) void score(int rounds) {
    volatile uint64_t sum = 0;
    for (int i = 0; i < rounds; i++) sum += (uint64_t)i * 31;
}

__attribute__((noinline)) void format_row(int rounds) {
    volatile uint64_t sum = 0;
    for (int i = 0; i < rounds; i++) sum += (uint64_t)i * 17;
}

__attribute__((noinline)) void handle(void) {
    score(1500000);
    format_row(500000);
    sink++;
}

__attribute__((noinline)) void late_report(void) {
    volatile uint64_t sum = 0;
    for (int i = 0; i < 1000000; i++) sum += (uint64_t)i;
}

static void rest(void) {
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
}

static void *serve(void *unused) {
    for (;;) {
        handle();
        rest();
    }
    return unused;
}

static void *report(void *unused) {
    for (;;) {
        late_report();
        rest();
    }
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons(count > 1 ? atoi(arguments[1]) : 0);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    // It listens once it is as it stays: while a thread starts, the C library blocks all signals.
    for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, serve, NULL);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) return 1;
    accept(listener, NULL, NULL);
    pthread_create(&thread, NULL, report, NULL);
    pthread_join(thread, NULL);
}
