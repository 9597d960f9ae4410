package document

import "sluice/flow"

// DestinationOf returns the hosts that a node sends its credentials to, if its
// config fixes them.
func DestinationOf(d *flow.Document, n *flow.Node, k *flow.Kind) []string {
	if k.Sends == nil {
		return nil
	}
	hosts, _ := FindDestination(d, n, k.Sends)
	return hosts
}

// FindDestination returns where a node sends its credentials. It is open if an
// edge, a template or an empty field leaves the host to the run.
func FindDestination(d *flow.Document, n *flow.Node, to *flow.Destination) (hosts []string, open bool) {
	if to.Field != "" && d.IsFed(n.ID, to.Field) {
		return nil, true
	}
	hosts = to.Hosts(n)
	return hosts, len(hosts) == 0
}

// FieldDestination returns where the credentials in a field are sent. Credentials in a URL are
// sent to the host of that URL, such as that of an image for a model.
func FieldDestination(k *flow.Kind, f *flow.Field) *flow.Destination {
	if f.Secrets == flow.SecretsInURL {
		return &flow.Destination{Field: f.Name, Hosts: flow.URLHost(f.Name)}
	}
	return k.Sends
}

// sentCredential is a credential that a config field of a node sends.
type sentCredential struct{ Field, Credential string }

// SentCredentials lists the credentials that a node sends, except those that only sign.
func SentCredentials(n *flow.Node, k *flow.Kind) (list []sentCredential) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Signs {
			continue
		}
		for _, name := range flow.CredentialsIn(n.Config[f.Name]) {
			list = append(list, sentCredential{f.Name, name})
		}
	}
	return list
}
