package outbound

import "fmt"

// forbidden returns spellings of hosts that must not be reached, as they stand
// in a URL between the scheme and the port.
func forbidden() []string {
	list := []string{
		// Loopback, private, shared, reserved and multicast, plainly written.
		"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
		"100.64.0.1", "100.127.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1",
		"172.31.255.254", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.254",
		"198.18.0.1", "198.19.255.254", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
		"255.255.255.255", "100.100.100.200", "168.63.129.16",
		// The same in IPv6.
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[0::1]", "[::0:1]", "[::2]",
		"[fe80::1]", "[febf::1]", "[fe80::1%25lo]", "[fe80::1%25eth0]", "[::1%25lo]", "[fe80::a9fe:a9fe]", "[fec0::1]",
		"[fc00::1]", "[fd00::1]", "[fdff:ffff::1]", "[fd00:ec2::254]", "[fd00:ec2::23]", "[FD00:EC2::254]",
		"[fd00:0ec2:0:0:0:0:0:254]", "[fd20:ce::254]", "[fd00:42::42]", "[ff02::1]", "[ff05::1:3]", "[100::1]",
		"[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[4000::1]", "[2001:10::1]",
		// IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]",
		"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::ffff:10.0.0.1]", "[::ffff:0.0.0.0]", "[::ffff:8.8.8.8]",
		"[::127.0.0.1]", "[::7f00:1]", "[::169.254.169.254]", "[::ffff:0:127.0.0.1]", "[::ffff:0:7f00:1]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::7f00:1]",
		"[64:ff9b:1:7f00:0:100::]", "[2002:7f00:1::]", "[2002:7f00:1::1]", "[2002:a9fe:a9fe::1]", "[2002:a00:1::]",
		"[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2001::1]",
		// Not an address between the brackets, or brackets where none belong.
		"[127.0.0.1]", "[localhost]", "[]", "[::1", "::1]", "[::1]x", "[[::1]]", "[::127.0.0.1.]", "[2130706433]",
		"[0x7f.1]", "[::1%25]", "[v1.fe80::1]",
		// Names that mean loopback here or resolve to it; the test's DNS says 127.0.0.1 and ::1 for all of them.
		"localhost", "LOCALHOST", "LocalHost", "localhost.", "localhost..", "localhost.localdomain", "ip6-localhost",
		"foo.localhost", "localtest.me", "127.0.0.1.nip.io", "7f000001.nip.io", "spoofed.burpcollaborator.net",
		"metadata.google.internal", "metadata", "instance-data", "kubernetes.default.svc", "host.docker.internal",
		"evil.example", "xn--bcher-kva.example", "bücher.example",
		// Full-width and circled digits, other dots, invisible and look-alike characters, all folded by IDNA.
		"１２７.0.0.1", "１２７．０．０．１", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "①②⑦.⓪.⓪.①", "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
		"𝟣𝟤𝟩.0.0.1", "¹²⁷.0.0.1", "₁₂₇.0.0.1", "ⓛocalhost", "ｌｏｃａｌｈｏｓｔ", "ℓocalhost", "locａlhost", "localhoſt",
		"127.0.0.1\u200b", "127\u00ad.0.0.1", "local\u00adhost", "loc\u200dalhost", "١٢٧.٠.٠.١", "0ｘ7f.1",
		// Percent signs, user names, backslashes, control characters, empty hosts.
		"127.0.0%2e1", "%31%32%37.0.0.1", "127%2E0%2E0%2E1", "%6c%6f%63%61%6c%68%6f%73%74", "127.0.0.1%00", "127.0.0.1%20",
		"localhost%00.example.com", "%5B::1%5D", "user@127.0.0.1", "user:pw@127.0.0.1", "example.com@127.0.0.1", "@127.0.0.1",
		":@127.0.0.1", "example.com:80@127.0.0.1", "example.com%40127.0.0.1", "example.com\\@127.0.0.1", "127.0.0.1\\.example.com",
		"\\127.0.0.1", "127.0.0.1\t", "127.0.\n0.1", "127.0.0.1\r\nHost: x", " 127.0.0.1", "127.0.0.1\x00", "127.0.0.1\x7f", "",
		".", "..", ".127.0.0.1", "127..0.0.1", "127.0.0.1..", "/127.0.0.1", "//127.0.0.1", "127.0.0.1:80", "127.0.0.1:", "127.0.0.1:@",
		"127.0.0.1;", "127.0.0.1,example.com", "-127.0.0.1", "+127.0.0.1", "127.0.0.+1", "127.0.0.1e0", "1.27e2.0.0.1",
	}
	for _, ip := range [][4]uint32{{127, 0, 0, 1}, {169, 254, 169, 254}, {10, 0, 0, 1}, {192, 168, 0, 1}, {0, 0, 0, 0}} {
		list = append(list, numeric(ip[0], ip[1], ip[2], ip[3])...)
	}
	return list
}

// numeric returns what inet_aton of the C library reads as the address.
func numeric(a, b, c, d uint32) []string {
	all := a<<24 | b<<16 | c<<8 | d
	return []string{
		fmt.Sprintf("%d", all), fmt.Sprintf("0x%x", all), fmt.Sprintf("0X%08X", all), fmt.Sprintf("0%o", all),
		fmt.Sprintf("0000%011o", all), fmt.Sprintf("%d.", all), fmt.Sprintf("%d", uint64(all)+1<<32),
		fmt.Sprintf("%d.%d", a, all&0xffffff), fmt.Sprintf("%d.%d.%d", a, b, all&0xffff),
		fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", a, b, c, d), fmt.Sprintf("0x%02X.%d.%d.%d", a, b, c, d),
		fmt.Sprintf("0%o.0%o.0%o.0%o", a, b, c, d), fmt.Sprintf("%04o.%d.%d.%d", a, b, c, d),
		fmt.Sprintf("0x%x.%d", a, all&0xffffff), fmt.Sprintf("0%o.%d.%d", a, b, all&0xffff),
		fmt.Sprintf("%03d.%03d.%03d.%03d", a, b, c, d) + ".", fmt.Sprintf("%d.%d.%d.%d.", a, b, c, d),
		fmt.Sprintf("%d.%d.%d.%d", a+256, b, c, d), fmt.Sprintf("%d.%d.%d.0x%x", a, b, c, d),
	}
}
