// Go's net/http client. Reads rows as JSON, sends each, and prints the outcomes as JSON. The standard library only: `go run client.go ROWS`.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"time"
)

const timeout = 2500 * time.Millisecond

type part struct {
	Name     string
	Value    string
	Filename *string
	Content  []byte
	Type     string
}

type step struct {
	Method    string
	URL       string
	Headers   [][2]string
	Body      *[]byte
	Query     [][2]string
	Form      [][2]string
	Multipart []part
	Auth      []string
	Redirects int
	Trailers  [][2]string
}

type row struct {
	ID      string
	Steps   []step
	Cookies bool
	Proxy   bool
	PauseMs int
	Origins map[string]string
}

type outcome struct {
	Error   string      `json:"error,omitempty"`
	Status  int         `json:"status"`
	Headers [][2][]byte `json:"headers"`
	Body    []byte      `json:"body"`
}

func main() {
	log.SetOutput(io.Discard) // net/http logs bytes that no request waits for.
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		panic(err)
	}
	outcomes := map[string][]outcome{}
	for _, row := range rows {
		outcomes[row.ID] = run(row)
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		panic(err)
	}
}

func run(row row) []outcome {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if row.Proxy {
		proxy := &url.URL{Scheme: "http", Host: row.Origins["o"]}
		transport.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
	}
	client := &http.Client{Transport: transport, Timeout: timeout}
	if row.Cookies {
		client.Jar, _ = cookiejar.New(nil)
	}
	outcomes := []outcome{}
	for _, step := range row.Steps {
		client.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
			if step.Redirects == 0 {
				return http.ErrUseLastResponse
			}
			if len(via) > step.Redirects {
				return fmt.Errorf("more than %d redirects", step.Redirects)
			}
			return nil
		}
		result, err := send(client, step)
		if err != nil {
			result = outcome{Error: err.Error()}
		}
		outcomes = append(outcomes, result)
		time.Sleep(time.Duration(row.PauseMs) * time.Millisecond)
	}
	return outcomes
}

func send(client *http.Client, step step) (outcome, error) {
	request, err := build(step)
	if err != nil {
		return outcome{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return outcome{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return outcome{}, err
	}
	result := outcome{Status: response.StatusCode, Body: body, Headers: [][2][]byte{}}
	for name, values := range response.Header {
		for _, value := range values {
			result.Headers = append(result.Headers, [2][]byte{[]byte(name), []byte(value)})
		}
	}
	return result, nil
}

func build(step step) (*http.Request, error) {
	address := step.URL
	if step.Query != nil {
		whole, fragment, hasFragment := strings.Cut(address, "#")
		separator := "?"
		if strings.Contains(whole, "?") {
			separator = "&"
		}
		address = strings.TrimSuffix(whole, "?") + separator + encode(step.Query)
		if hasFragment {
			address += "#" + fragment
		}
	}
	var body io.Reader
	contentType := ""
	switch {
	case step.Body != nil:
		body = bytes.NewReader(*step.Body)
	case step.Form != nil:
		body, contentType = strings.NewReader(encode(step.Form)), "application/x-www-form-urlencoded"
	case step.Multipart != nil:
		buffer := &bytes.Buffer{}
		writer := multipart.NewWriter(buffer)
		for _, part := range step.Multipart {
			if err := write(writer, part); err != nil {
				return nil, err
			}
		}
		writer.Close()
		body, contentType = buffer, writer.FormDataContentType()
	}
	request, err := http.NewRequest(step.Method, address, body)
	if err != nil {
		return nil, err
	}
	for _, header := range step.Headers {
		if strings.EqualFold(header[0], "host") {
			request.Host = header[1]
		} else {
			request.Header[header[0]] = append(request.Header[header[0]], header[1])
		}
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for _, trailer := range step.Trailers {
		if request.Trailer == nil {
			request.Trailer = http.Header{}
			// Of unknown length, which makes it chunked.
			request.ContentLength = -1
		}
		request.Trailer[trailer[0]] = append(request.Trailer[trailer[0]], trailer[1])
	}
	if step.Auth != nil {
		request.SetBasicAuth(step.Auth[0], step.Auth[1])
	}
	return request, nil
}

func write(writer *multipart.Writer, part part) error {
	if part.Filename == nil {
		return writer.WriteField(part.Name, part.Value)
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition(part.Name, *part.Filename))
	header.Set("Content-Type", part.Type)
	file, err := writer.CreatePart(header)
	if err == nil {
		_, err = file.Write(part.Content)
	}
	return err
}

func encode(pairs [][2]string) string {
	encoded := []string{}
	for _, pair := range pairs {
		encoded = append(encoded, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
	}
	return strings.Join(encoded, "&")
}
