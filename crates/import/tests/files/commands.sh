# Copied from a browser
curl 'http://127.0.0.1:9/post?x=1' \
  -H 'Accept: */*' \
  -H 'Authorization: Bearer s3cr3t-bearer' \
  -H 'Content-Type: application/json' \
  -b 'session=abc; theme=dark' \
  --data-raw $'{"note":"it\'s fine","password":"hunter2-hunter2"}' --compressed

$ curl -sSXPUT -u ann:pa55-word http://127.0.0.1:9/put -d a=1 -d b=2
curl -G "http://127.0.0.1:9/get" --data-urlencode "q=rye bread" -o /dev/null
