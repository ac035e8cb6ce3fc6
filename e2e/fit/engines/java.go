// SPDX-License-Identifier: Apache-2.0

package engines

// Where Debian 12's default-jre-headless has its command, and what the links of its
// configuration lead to.
const (
	java       = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
	javaConfig = "/etc/java-17-openjdk"
)
