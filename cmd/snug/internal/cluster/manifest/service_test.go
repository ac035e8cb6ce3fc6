// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
)

// bounds returns the limits and env files of a file's services.
func bounds(f *manifest.File) string {
	var s []string
	for _, o := range f.Objects {
		for _, p := range o.Pods {
			c := p.Containers[0]
			var all []string
			for name, field := range c.Resources.Limits {
				all = append(all, fmt.Sprintf("%s=%s@%d", name, field.Text, o.FieldAt(field).Line))
			}
			for _, from := range c.EnvFrom {
				all = append(all, "<"+from.File)
			}
			slices.Sort(all)
			if c.Partial() {
				all = append(all, "partial")
			}
			s = append(s, strings.Join(append([]string{o.Name + ":" + c.Image}, all...), " "))
		}
	}
	return strings.Join(s, "; ")
}

func TestCompose(t *testing.T) {
	for _, c := range []struct{ name, text, want, bounds string }{
		{"mapping", "services:\n  a:\n    image: i\n    environment:\n      GOGC: 50\n      SECRET: x\n", "service a@3:5 @2:3 GOGC=50@5:13", "a:i"},
		{"list", "services:\n  a:\n    build: .\n    environment:\n    - SECRET=x\n    - GOGC=50\n    - GOMEMLIMIT\n", "service a@3:5 @2:3 GOGC=50@6:7 GOMEMLIMIT=@7:7", "a:"},
		{"merged", "x: &x {GOGC: '50'}\nservices:\n  a: &a {image: i, mem_limit: 1g, environment: {<<: *x, GOMAXPROCS: 2}}\n  b: {<<: *a, cpus: 2}\n",
			"service a@3:6 @3:3 GOMAXPROCS=2@3:69 GOGC=50@1:14 service b@4:6 @4:3 GOMAXPROCS=2@3:69 GOGC=50@1:14", "a:i mem_limit=1g@3; b:i cpus=2@4 mem_limit=1g@3"},
		{"templates", "services: {a: {image: i, environment: {GOGC: $X, GOMEMLIMIT: 'a${X}', GOMAXPROCS: }, mem_limit: '${M}'}}", "service a@1:15 @1:12 GOMAXPROCS=@1:83 GOMEMLIMIT=@1:62 GOGC=@1:46", "a:i mem_limit=${M}@1"},
		{"limits", "services:\n  a:\n    image: i\n    cpu_quota: 1\n    cpu_period: 2\n    cpuset: 0-1\n    deploy: {resources: {limits: {cpus: '1', memory: 1g}, reservations: {memory: 2g}}}\n", "service a@3:5 @2:3",
			"a:i cpu_period=2@5 cpu_quota=1@4 cpuset=0-1@6 deploy.resources.limits.cpus=1@7 deploy.resources.limits.memory=1g@7"},
		{"files", "services:\n  a: {image: i, env_file: x/a.env}\n  b: {image: i, env_file: [./b.env, ../c.env, {path: d.env}, /e.env, '${F}.env']}\n", "service a@2:6 @2:3 service b@3:6 @3:3",
			"a:i <dir/x/a.env; b:i < < < <dir/b.env <dir/d.env"},
		{"parts of services", "services:\n  a: {environment: {GOGC: '1'}}\n  b: {image: i, extends: {service: a}}\n", "service a@2:6 @2:3 GOGC=1@2:27 service b@3:6 @3:3", "a: partial; b:i < partial"},
		{"as JSON", "{\n  \"services\": {\n    \"a\": {\"image\": \"i\", \"environment\": {\"GOGC\": \"1\"}}\n  }\n}\n", "service a@3:10 @3:5 GOGC=1@3:49", "a:i"},
		{"other services", "services: [docker]\n", "", ""},
		{"of a framework", "services:\n  App\\: {resource: ../src}\n  _defaults: {autowire: true}\n", "", ""},
		{"of Kubernetes", "kind: Mesh\nservices: {a: {image: i}}\n", "", ""},
		{"nothing in it", "services: {a: , b: {image: i, environment: x, env_file: {a: b}, deploy: []}}\n", "service b@1:20 @1:17", "b:i"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := manifest.Parse("dir/f", []byte(c.text))
			if got := said(f); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			if got := bounds(f); got != c.bounds {
				t.Errorf("\ngot  %s\nwant %s", got, c.bounds)
			}
			if f.Found != 0 && c.name != "of Kubernetes" {
				t.Errorf("%d objects of Kubernetes", f.Found)
			}
		})
	}
}

func TestParseUnit(t *testing.T) {
	const unit = "[Unit]\nMemoryMax=1\n[Service]\nExecStart=-/usr/bin/cart --x\nMemoryMax=1G\nAllowedCPUs=0-1\nEnvironment=SECRET=x \\\n  GOGC=50\n"
	for _, c := range []struct {
		name, path   string
		files        []string
		want, bounds string
	}{
		{"unit", "a.service", []string{unit}, "unit a.service@4:1 @4:1 GOGC=50@8:3", "a.service:/usr/bin/cart AllowedCPUs=0-1@6 MemoryMax=1G@5"},
		{"with drop-ins", "a.service", []string{unit, "\ufeff[Service]\nMemoryMax=2G\n[X]\nMemoryMax=3G", "[Service]\nAllowedCPUs=4\nEnvironment=GOGC=1"},
			"unit a.service@4:1 @4:1 GOGC=50@8:3 GOGC=1@15:13", "a.service:/usr/bin/cart AllowedCPUs=0-1 4@14 MemoryMax=2G@10"},
		{"reset", "a.service", []string{unit, "[Service]\nExecStart=\nMemoryMax=\nAllowedCPUs=\nEnvironment=\n"}, "unit a.service@4:1 @4:1", "a.service:"},
		{"without its section", "a.service", []string{unit, "MemoryMax=2G\n"}, "unit a.service@4:1 @4:1 GOGC=50@8:3", "a.service:/usr/bin/cart AllowedCPUs=0-1@6 MemoryMax=1G@5"},
		{"files", "a.service", []string{"[Service]\nEnvironmentFile=/etc/a\n"}, "unit a.service@2:1 @2:1", "a.service: <"},
		{"files of this machine", "/etc/systemd/system/a.service", []string{"[Service]\nEnvironmentFile=-/etc/a\nEnvironmentFile=/etc/%p\nEnvironmentFile=b\nEnvironmentFile=/../c"},
			"unit a.service@2:1 @2:1", "a.service: < < < </etc/a"},
		{"files of a tree", "deb/root/usr/lib/systemd/system/a.service", []string{"[Service]\nEnvironmentFile=/x\nEnvironmentFile=\nEnvironmentFile=/etc/a\n"}, "unit a.service@2:1 @2:1", "a.service: <deb/root/etc/a"},
		{"a drop-in alone", "x/a.service.d/m.conf", []string{"[Service]\nMemoryMax=1G\n"}, "unit a.service@2:1 @2:1", "a.service: MemoryMax=1G@2 partial"},
		{"of something else", "a.service", []string{"[D-BUS Service]\nName=x\n"}, "", ""},
		{"not text", "a.service", []string{"[Service]\n\xff\xfe=\nEnvironment=GOGC=\xff\n"}, "unit a.service@2:1 @2:1 GOGC=\xff@3:13", "a.service:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []manifest.Text
			for i, text := range c.files {
				name := c.path
				if i > 0 {
					name = fmt.Sprintf("a.service.d/%d.conf", i)
				}
				files = append(files, manifest.Text{Name: name, Text: []byte(text)})
			}
			f := manifest.ParseUnit(files...)
			if got := said(f); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			if got := bounds(f); got != c.bounds {
				t.Errorf("\ngot  %s\nwant %s", got, c.bounds)
			}
		})
	}
	f := manifest.ParseUnit(manifest.Text{Name: "a", Text: []byte("1\n2")}, manifest.Text{Name: "b", Text: []byte("3\n")}, manifest.Text{Name: "c", Text: []byte("4\n5\n")})
	for line, want := range map[int]string{1: "a:1", 2: "a:2", 3: "b:1", 4: "c:1", 5: "c:2"} {
		if name, in := f.Where(line); fmt.Sprintf("%s:%d", name, in) != want {
			t.Errorf("line %d is %s:%d, want %s", line, name, in, want)
		}
	}
}

func TestDropIn(t *testing.T) {
	for path, want := range map[string]string{
		"/etc/systemd/system/a.service.d/10.conf": "a.service", "a@.service.d/x.conf": "a@.service",
		"a.service.d/readme": "", "a.service": "", "10.conf": "", "a.timer.d/x.conf": "", ".service.d/x.conf": ".service",
	} {
		if got := manifest.DropIn(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
