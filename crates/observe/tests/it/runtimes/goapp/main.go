// A service in Go for the tests of its observer: three goroutines wait for a lock, whose holder sleeps; two wait for a permit;
// one for the network; one computes.
package main

import (
	"expvar"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var stock sync.Mutex

func take() {
	stock.Lock()
	defer stock.Unlock()
	time.Sleep(50 * time.Millisecond)
}

func buy() {
	for {
		take()
	}
}

func permit(places chan struct{}) { places <- struct{}{} }

func listen(connection net.Conn) { connection.Read(make([]byte, 1)) }

func hash() (digest uint32) {
	for {
		for round := uint32(0); round < 1_000_000; round++ {
			digest = digest*31 + round
		}
		if digest == 1 {
			return
		}
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	expvar.NewInt("ready").Set(1)
	for range 4 {
		go buy()
	}
	places := make(chan struct{})
	for range 2 {
		go permit(places)
	}
	server, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	silent, _ := net.Listen("tcp", "127.0.0.1:0")
	connection, err := net.Dial("tcp", silent.Addr().String())
	if err != nil {
		panic(err)
	}
	go listen(connection)
	go hash()
	panic(http.Serve(server, nil))
}
