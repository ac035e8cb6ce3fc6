// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// domain is the cluster's domain.
const domain = "cluster.local"

// serveNames answers DNS queries about services, like CoreDNS. A headless service has the addresses
// of its endpoints.
func serveNames(t testing.TB, l *kube.Lab, at string) error {
	c, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			name, answer := question(buffer[:n])
			if answer == nil {
				continue
			}
			if answer = reply(answer, lookup(l, name)); answer != nil {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
	return nil
}

// lookup returns the addresses of "service.namespace.svc.cluster.local"; nil = no such service.
func lookup(l *kube.Lab, name string) []netip.Addr {
	service, ok := strings.CutSuffix(strings.ToLower(name), ".svc."+domain)
	service, namespace, two := strings.Cut(service, ".")
	if !ok || !two || strings.Contains(namespace, ".") {
		return nil
	}
	all := []netip.Addr{}
	add := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	path := "/api/v1/namespaces/" + namespace
	var s struct{ Spec struct{ ClusterIP string } }
	if err := l.Read(path+"/services/"+service, &s); err != nil {
		return nil
	}
	add(s.Spec.ClusterIP)
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready *bool }
			}
		}
	}
	if s.Spec.ClusterIP == "None" && l.Read("/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices?labelSelector=kubernetes.io/service-name%3D"+service, &slices) == nil {
		for _, i := range slices.Items {
			for _, e := range i.Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					for _, a := range e.Addresses {
						add(a)
					}
				}
			}
		}
	}
	return all
}

// Parts of a DNS message (RFC 1035, 4.1).
const (
	headerLen     = 12
	typeA         = 1
	isAnswer      = 1 << 15 // QR
	authoritative = 1 << 10 // AA
	desired       = 1 << 8  // RD
	available     = 1 << 7  // RA
	noSuchName    = 3
)

// question returns the name that a message asks for, and the message up to the end of the question;
// nil = not a query.
func question(m []byte) (name string, rest []byte) {
	if len(m) < headerLen || binary.BigEndian.Uint16(m[4:]) != 1 || m[2]&0x80 != 0 {
		return "", nil
	}
	at := headerLen
	var labels []string
	for {
		if at >= len(m) || m[at] > 63 {
			return "", nil
		}
		length := int(m[at])
		at++
		if length == 0 {
			break
		}
		if at+length > len(m) {
			return "", nil
		}
		labels = append(labels, string(m[at:at+length]))
		at += length
	}
	if at += 4; at > len(m) { // type and class
		return "", nil
	}
	return strings.Join(labels, "."), m[:at:at]
}

// reply returns the answer to a query; nil addresses = no such name.
func reply(m []byte, all []netip.Addr) []byte {
	flags := binary.BigEndian.Uint16(m[2:])&desired | isAnswer | authoritative | available
	if all == nil {
		flags |= noSuchName
	}
	count := 0
	if binary.BigEndian.Uint16(m[len(m)-4:]) == typeA {
		for _, a := range all {
			if a.Is4() {
				m = append(m, 0xc0, headerLen, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4) // the question's name, class IN, TTL 1 s
				m = append(m, a.AsSlice()...)
				count++
			}
		}
	}
	binary.BigEndian.PutUint16(m[2:], flags)
	binary.BigEndian.PutUint16(m[6:], uint16(count))
	binary.BigEndian.PutUint32(m[8:], 0)
	return m
}
