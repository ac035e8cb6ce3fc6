// SPDX-License-Identifier: Apache-2.0

package flagvalue

import "github.com/spf13/pflag"

// section is the annotation that Section sets.
const section = "section"

// Section puts flags under a title of their own in a help.
func Section(fs *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, section, []string{title}); err != nil {
			panic(err) // no such flag: found by every test
		}
	}
}

// SectionOf returns the title of a flag; "" without one.
func SectionOf(f *pflag.Flag) string {
	if list := f.Annotations[section]; len(list) > 0 {
		return list[0]
	}
	return ""
}
