// The faults that a service carries in itself, around each of its requests. See ../README.md for what each setting means.
package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

type settings struct {
	CPU        float64 `json:"cpu"`
	Cores      int     `json:"cores"`
	Pool       int     `json:"pool"`
	Query      float64 `json:"query"`
	Workers    int     `json:"workers"`
	Work       float64 `json:"work"`
	Mutex      float64 `json:"mutex"`
	Statements int     `json:"statements"`
	Timeout    float64 `json:"timeout"`
	Leak       int     `json:"leak"`
	Nagle      bool    `json:"nagle"`
	Scan       int     `json:"scan"`
	Sockets    int     `json:"sockets"`
	Unreturned float64 `json:"unreturned"`
	Retries    int     `json:"retries"`
	Limit      *struct {
		PerSecond float64 `json:"perSecond"`
		Delay     bool    `json:"delay"`
	} `json:"limit"`
	Errors *struct {
		Share   float64 `json:"share"`
		Request string  `json:"request"`
		From    float64 `json:"from"`
		Above   int     `json:"above"`
	} `json:"errors"`
	Stall *struct {
		Every float64 `json:"every"`
		Ms    float64 `json:"ms"`
	} `json:"stall"`
	WarmUp *struct {
		Seconds float64 `json:"seconds"`
		Ms      float64 `json:"ms"`
	} `json:"warmUp"`
}

type faults struct {
	settings
	workers chan struct{}
	mutex   sync.Mutex

	// Guards what follows.
	state   sync.Mutex
	first   time.Time
	kept    [][]byte
	limited time.Time
	second  int64
	count   int
}

func readFaults() *faults {
	f := &faults{}
	if err := json.Unmarshal([]byte(os.Getenv("FAULT")), &f.settings); err != nil {
		panic(err)
	}
	if f.Workers > 0 {
		f.workers = make(chan struct{}, f.Workers)
	}
	return f
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// around runs a request's handler with everything that is wrong with it; it returns a status other than 0 where another answers.
func (f *faults) around(name string, handle func() int) int {
	now := time.Now()
	f.state.Lock()
	if f.first.IsZero() {
		f.first = now
	}
	if f.Leak > 0 {
		kept := make([]byte, f.Leak)
		for i := 0; i < len(kept); i += 1024 {
			kept[i] = 1
		}
		f.kept = append(f.kept, kept)
	}
	elapsed := now.Sub(f.first).Seconds()
	f.state.Unlock()
	f.stalled(elapsed)
	if status := f.rateLimited(now); status != 0 {
		return status
	}
	if status := f.failed(name, elapsed); status != 0 {
		return status
	}
	if w := f.WarmUp; w != nil && elapsed < w.Seconds {
		time.Sleep(milliseconds(w.Ms * (1 - elapsed/w.Seconds)))
	}
	if f.workers != nil {
		f.workers <- struct{}{}
		defer func() { <-f.workers }()
		time.Sleep(milliseconds(f.Work))
	}
	if f.Mutex > 0 && name == "Buy" {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		time.Sleep(milliseconds(f.Mutex))
	}
	return handle()
}

func (f *faults) stalled(elapsed float64) {
	if s := f.Stall; s != nil && elapsed >= s.Every {
		into := (elapsed - s.Every*float64(int(elapsed/s.Every))) * 1000
		if into < s.Ms {
			time.Sleep(milliseconds(s.Ms - into))
		}
	}
}

// One place every 1 / PerSecond; what comes early waits for its place, or is refused beyond a burst of five.
func (f *faults) rateLimited(now time.Time) int {
	if f.Limit == nil {
		return 0
	}
	f.state.Lock()
	if f.limited.Before(now) {
		f.limited = now
	}
	wait, gap := f.limited.Sub(now), milliseconds(1000/f.Limit.PerSecond)
	if !f.Limit.Delay && wait > 5*gap {
		f.state.Unlock()
		return 429
	}
	f.limited = f.limited.Add(gap)
	f.state.Unlock()
	if f.Limit.Delay {
		time.Sleep(wait)
	}
	return 0
}

func (f *faults) failed(name string, elapsed float64) int {
	e := f.Errors
	if e == nil || (e.Request != "" && e.Request != name) || elapsed < e.From {
		return 0
	}
	if e.Above > 0 {
		f.state.Lock()
		defer f.state.Unlock()
		if second := time.Now().Unix(); second != f.second {
			f.second, f.count = second, 0
		}
		f.count++
		if f.count > e.Above {
			return 503
		}
		return 0
	}
	if rand.Float64() < e.Share {
		return 500
	}
	return 0
}

// login computes for as long as a login of this service takes: CPU time of its thread, which others cannot shorten.
func (f *faults) login() int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	digest := 0
	for start := threadTime(); ; {
		for round := range 1000 {
			digest = digest*31 + round
		}
		if threadTime()-start >= milliseconds(f.CPU) {
			return digest
		}
	}
}

func threadTime() time.Duration {
	// RUSAGE_THREAD of getrusage(2), which the package does not name.
	const thread = 1
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
