// SPDX-License-Identifier: Apache-2.0

// Package guard lets only those read an address whom the cluster's API server knows and permits it: by
// a TokenReview of the bearer token, and a SubjectAccessReview of the path, as kube-rbac-proxy does.
// Sources: k8s.io/api/authentication/v1, k8s.io/api/authorization/v1.
package guard

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

const (
	// keptYes and keptNo are how long an answer is used again: so long a right that was taken away
	// still works, and one that was given does not.
	keptYes, keptNo = time.Minute, 10 * time.Second
	// maxKept bounds the answers that are kept.
	maxKept = 256
	// maxAsking bounds the questions at a time, of which a client has one. Further requests wait.
	maxAsking = 4
	// maxWait bounds the wait for the API server. It is below the time in which the address has to answer, or
	// the client would get nothing.
	maxWait = 3 * time.Second
	// maxToken bounds a token in bytes.
	maxToken = 16 << 10
)

// Guard asks an API server. Its methods are safe for concurrent use.
type Guard struct {
	api    *rest.Client
	note   func(string)
	asking *bound.Turns
	now    func() time.Time // for tests
	wait   time.Duration    // maxWait

	mu   sync.Mutex
	kept map[[sha256.Size]byte]answer
}

// answer is what is known of a token and a path.
type answer struct {
	status int // http.StatusOK, StatusUnauthorized or StatusForbidden
	until  time.Time
}

// New returns a Guard. Its service account needs the ClusterRole system:auth-delegator. note
// receives errors of the API server.
func New(api *rest.Client, note func(string)) *Guard {
	return &Guard{
		api: api, note: note, asking: bound.NewTurns(maxAsking), now: time.Now, wait: maxWait,
		kept: map[[sha256.Size]byte]answer{},
	}
}

// Handler passes requests for the guarded paths to next if their token may get that path, and all
// requests for the open paths. Others get 401 without a known token, 403 without the right, 404 for other
// paths, and 503 if the API server does not say.
func (g *Guard) Handler(next http.Handler, guarded, open []string) http.Handler {
	mux := http.NewServeMux()
	for _, path := range open {
		mux.Handle(exactly(path), next)
	}
	for _, path := range guarded {
		mux.HandleFunc(exactly(path), func(w http.ResponseWriter, r *http.Request) {
			switch status := g.status(r.Context(), r.Header.Get("Authorization"), path); status {
			case http.StatusOK:
				next.ServeHTTP(w, r)
			case http.StatusUnauthorized:
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "a token of the cluster is needed: Authorization: Bearer", status)
			case http.StatusForbidden:
				http.Error(w, "a ClusterRole has to permit it: nonResourceURLs "+path+", verbs get", status)
			default:
				http.Error(w, "the API server does not say whether you may, try again", status)
			}
		})
	}
	return mux
}

// exactly returns the pattern of one path and nothing below it.
func exactly(path string) string {
	if path == "/" {
		return "/{$}"
	}
	return path
}

// status returns the status of a request for a path with this Authorization header.
func (g *Guard) status(ctx context.Context, authorization, path string) int {
	scheme, token, _ := strings.Cut(authorization, " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return http.StatusUnauthorized
	}
	key := sha256.Sum256([]byte(path + " " + token))
	if a, ok := g.known(key); ok {
		return a.status
	}
	inTime, stop := context.WithTimeout(ctx, g.wait)
	defer stop()
	leave, ok := g.asking.Take(inTime, g.wait)
	if !ok {
		return http.StatusServiceUnavailable
	}
	defer leave()
	if a, ok := g.known(key); ok { // asked meanwhile
		return a.status
	}
	status, err := g.ask(inTime, token, path)
	if err != nil {
		if ctx.Err() == nil {
			g.note("who may read " + path + " is not known: " + err.Error())
		}
		return http.StatusServiceUnavailable
	}
	g.keep(key, status)
	return status
}

func (g *Guard) known(key [sha256.Size]byte) (answer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.kept[key]
	return a, ok && g.now().Before(a.until)
}

func (g *Guard) keep(key [sha256.Size]byte, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if len(g.kept) >= maxKept {
		for k, a := range g.kept {
			if !now.Before(a.until) || a.status != http.StatusOK {
				delete(g.kept, k)
			}
		}
		if len(g.kept) >= maxKept {
			clear(g.kept)
		}
	}
	a := answer{status, now.Add(keptNo)}
	if status == http.StatusOK {
		a.until = now.Add(keptYes)
	}
	g.kept[key] = a
}

// ask asks the API server who has a token, and whether this user may get a path.
func (g *Guard) ask(ctx context.Context, token, path string) (status int, err error) {
	type object = map[string]any
	var who struct {
		Status struct {
			Authenticated bool
			User          struct {
				Username, UID string
				Groups        []string
				Extra         map[string][]string
			}
		}
	}
	review := object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": object{"token": token}}
	if err := g.api.Ask(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", review, &who); err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	u := &who.Status.User
	var may struct{ Status struct{ Allowed bool } }
	review = object{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": object{
		"user": u.Username, "uid": u.UID, "groups": u.Groups, "extra": u.Extra,
		"nonResourceAttributes": object{"path": path, "verb": "get"},
	}}
	if err := g.api.Ask(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, &may); err != nil {
		return 0, err
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
