package main

import (
	"os"
	"os/signal"
	"syscall"
)

// untilEnded returns on SIGTERM, so that what was deferred is done.
func untilEnded() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, os.Interrupt)
	<-told
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
