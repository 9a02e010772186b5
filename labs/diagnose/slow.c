// Preloaded into a database or a shop: a disk that flushes slowly, and names that are looked up slowly.
//
//   FLUSH_FILE   holds the milliseconds that each flush takes longer; may change at any time, and need not exist
//   FSYNC_MS     milliseconds that each fsync takes longer
//   LOOKUP_MS    milliseconds that each look-up of a name takes longer

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for(double ms) {
  if (ms <= 0) return;
  struct timespec left = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fdatasync(int file) {
  const char *path = getenv("FLUSH_FILE");
  FILE *holds = path ? fopen(path, "r") : NULL;
  double ms = 0;
  if (holds) {
    if (fscanf(holds, "%lf", &ms) != 1) ms = 0;
    fclose(holds);
  }
  wait_for(ms);
  return (int)syscall(SYS_fdatasync, file);
}

int fsync(int file) {
  const char *ms = getenv("FSYNC_MS");
  if (ms) wait_for(atof(ms));
  return (int)syscall(SYS_fsync, file);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  int (*usual)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
  const char *ms = getenv("LOOKUP_MS");
  if (ms) wait_for(atof(ms));
  return usual(name, service, hints, found);
}
