import http from "k6/http";

const SITE = __ENV.BASE_URL || "http://127.0.0.1:9";

// Signs somebody in; the cookie stays with the user.
export function signIn(who) {
  return http.get(`${SITE}/get?session=${who}`, { cookies: { visitor: who } });
}
