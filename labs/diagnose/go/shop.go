// The little shop in Go: net/http and SQLite.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	_ "modernc.org/sqlite"
)

type shop struct {
	*faults
	readers, writer *sql.DB
	provider        *http.Client
}

func main() {
	f := readFaults()
	if f.Cores > 0 {
		runtime.GOMAXPROCS(f.Cores)
	}
	folder, err := os.MkdirTemp("", "loadstone-shop-")
	must(err)
	defer os.RemoveAll(folder)
	s := &shop{faults: f, provider: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, MaxConnsPerHost: f.Sockets}}}
	if f.Timeout > 0 {
		s.provider.Timeout = milliseconds(f.Timeout)
	}
	// SQLite has one writer at a time; a connection of its own saves it from finding the file locked.
	s.writer, s.readers = open(folder, 1), open(folder, 20)
	if f.Pool > 0 {
		s.readers.SetMaxOpenConns(f.Pool)
	}
	s.fill()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := &http.Server{Handler: s.routes(), ConnContext: s.delayed}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	go server.Serve(listener)
	untilEnded()
}

func open(folder string, connections int) *sql.DB {
	pragmas := "?_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=busy_timeout(5000)"
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+pragmas)
	must(err)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func (s *shop) fill() {
	products := max(1000, s.Scan)
	for _, statement := range []string{
		"create table products (id integer primary key, code text, name text, category text, price int, stock int)",
		"create table orders (id integer primary key, product int)",
		fmt.Sprintf("insert into products with recursive n(id) as (select 1 union all select id + 1 from n where id < %d) "+
			"select id, 'P' || id, 'Product ' || id, 'C' || (id %% 7), id %% 90 + 10, 1000000 from n", products),
	} {
		_, err := s.writer.Exec(statement)
		must(err)
	}
	if s.Scan == 0 {
		_, err := s.writer.Exec("create index products_code on products (code)")
		must(err)
	}
}

// delayed gives a connection Nagle's algorithm back, which Go switches off.
func (s *shop) delayed(ctx context.Context, connection net.Conn) context.Context {
	if tcp, is := connection.(*net.TCPConn); is && s.Nagle {
		tcp.SetNoDelay(false)
	}
	return ctx
}

func (s *shop) routes() http.Handler {
	routes := http.NewServeMux()
	for pattern, handler := range map[string]struct {
		name   string
		handle func(*http.Request) (any, int)
	}{
		"GET /list":   {"List", s.list},
		"GET /item":   {"Item", s.item},
		"POST /login": {"Login", func(*http.Request) (any, int) { return s.login(), 200 }},
		"POST /buy":   {"Buy", s.buy},
		"GET /report": {"Report", s.report},
	} {
		routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var body any
			status := s.around(handler.name, func() (status int) {
				body, status = handler.handle(r)
				return status
			})
			text, _ := json.Marshal(body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			w.WriteHeader(status)
			if s.Nagle {
				w.(http.Flusher).Flush()
			}
			w.Write(text)
		})
	}
	routes.HandleFunc("GET /metrics", s.metrics)
	routes.Handle("/debug/pprof/", http.DefaultServeMux)
	return routes
}

func (s *shop) rows(query string, arguments ...any) (any, int) {
	rows, err := s.readers.Query(query, arguments...)
	if err != nil {
		return err.Error(), 500
	}
	defer rows.Close()
	found := [][2]string{}
	for rows.Next() {
		var row [2]string
		if err := rows.Scan(&row[0], &row[1]); err != nil {
			return err.Error(), 500
		}
		found = append(found, row)
	}
	return found, 200
}

func (s *shop) list(*http.Request) (any, int) {
	return s.rows("select name, price from products order by id limit 20")
}

func (s *shop) item(r *http.Request) (any, int) {
	return s.rows("select name, price from products where code = ?", r.FormValue("code"))
}

func (s *shop) buy(r *http.Request) (any, int) {
	response, err := s.provider.Get(os.Getenv("PROVIDER_URL") + "/pay")
	for asked := 0; err != nil && asked < s.Retries; asked++ {
		response, err = s.provider.Get(os.Getenv("PROVIDER_URL") + "/pay")
	}
	if err != nil {
		return err.Error(), 504
	}
	response.Body.Close()
	if s.Pool > 0 {
		held, err := s.readers.Conn(r.Context())
		if err != nil {
			return err.Error(), 500
		}
		if rand.Float64() >= s.Unreturned {
			defer held.Close()
		}
		time.Sleep(milliseconds(s.Query))
	}
	transaction, err := s.writer.Begin()
	if err != nil {
		return err.Error(), 500
	}
	defer transaction.Rollback()
	product := 1 + rand.IntN(1000)
	if _, err = transaction.Exec("update products set stock = stock - 1 where id = ?", product); err != nil {
		return err.Error(), 500
	}
	if _, err = transaction.Exec("insert into orders (product) values (?)", product); err != nil {
		return err.Error(), 500
	}
	if err = transaction.Commit(); err != nil {
		return err.Error(), 500
	}
	return "bought", 200
}

func (s *shop) report(*http.Request) (any, int) {
	for id := range s.Statements {
		if _, status := s.rows("select category, price from products where id = ?", 1+id%1000); status != 200 {
			return nil, status
		}
	}
	return s.rows("select category, sum(price) from products where id <= 100 group by category")
}

func (s *shop) metrics(w http.ResponseWriter, _ *http.Request) {
	stats := s.readers.Stats()
	for name, value := range map[string]int{"max_open": stats.MaxOpenConnections, "in_use": stats.InUse, "idle": stats.Idle} {
		fmt.Fprintf(w, "# TYPE db_pool_connections_%s gauge\ndb_pool_connections_%s %d\n", name, name, value)
	}
	fmt.Fprintf(w, "# TYPE db_pool_wait_count_total counter\ndb_pool_wait_count_total %d\n", stats.WaitCount)
	fmt.Fprintf(w, "# TYPE db_pool_wait_seconds_total counter\ndb_pool_wait_seconds_total %f\n", stats.WaitDuration.Seconds())
	fmt.Fprintf(w, "# TYPE go_goroutines gauge\ngo_goroutines %d\n", runtime.NumGoroutine())
}
