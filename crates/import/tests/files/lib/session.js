import http from "k6/http";

// Signs somebody in; the cookie stays with the user.
export function signIn(base, who) {
  return http.get(`${base}/get?session=${who}`, { cookies: { visitor: who } });
}
