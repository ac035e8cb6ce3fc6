// SPDX-License-Identifier: Apache-2.0

package engines

// Debian 12's default-jre-headless has the command in java. The links of its configuration lead to
// javaConfig.
const (
	java       = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
	javaConfig = "/etc/java-17-openjdk"
)
