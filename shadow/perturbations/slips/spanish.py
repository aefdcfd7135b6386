"""Slips in Spanish.

Accents at the end of a word tell tenses apart ("hablo", "habló"; "hablarán", "hablaran"): they stay.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import SPANISH as LAYOUT
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
absorber absorver, análisis analisis, así asi, aquí aqui, cambio canbio, cliente clente
conciencia conciensia, conexión conección, consciente conciente, contraseña contrasena, correcto corecto
cualquier cualquer, decisión desición, desarrollo desarollo, después despues, día dia, diferencia diferiencia
dirección direcion, ejemplo ejenplo, empezar empesar, enseguida ensegida, entonces entoces, error eror
escribe escrive, escribir escrivir, espontáneo expontáneo, excelente exelente, excepto exepto
explicación esplicación, explicar esplicar, extraño estraño, factura fatura, garantía garantia
gracias grasias, había havia, haciendo hasiendo, importante inportante, imposible inposible
información imformación, iniciar inisiar, instalación intalación, mensaje mensage, momento momneto
necesario nesesario, necesita nesesita, necesito nesesito, objetivo ojetivo, ocasión ocación
paciencia pasiencia, perfecto perfeto, posible posivle, problema probelma, proceso proseso
producto produto, proyecto projecto, quería queria, recibido resibido, recibir resivir, relación relasión
reserva reserba, respuesta respusta, resumen resúmen, servicio servisio, siguiente sigiente
situación situasión, solución solusión, sugerencia sujerencia, suscripción subcripción
también tambien, teléfono telefono, texto testo, usuario usario, utilizar utilisar, volver volber
""")

_FREQUENT: Final = words("""
abordada abordara abusado acera acoso agua aguda alas alcanzado algo alto ancestros anos arcilla ardilla
are arma aro arroz ataca atada atroz aumentado autor ayuda bala banca banco banda bata bien boca boda bola
bolas borrado buen buscado cabe caca cada cafetera caja cal calificada calvo cama campana can cana canas
canto caos car cara caras carga caro carrera carta carteles cartera casa casas caso catar causado caza
cazas cazo caía caña cedro celo cera cerca cerda cerdo cero cerro chica choca ciento cientos cima cita
clavo cliente codo coma comenzado como comparado complicado compra comprar conejo cono considerado copa
coral coro corral corre corro cortado corte corto cosa cosas costa cota crea creado crece cree creer creo
critica cuando cuanto cuantos cuarto cuento cuentos cuero cuna cura dado dama das deban demostrado deseado
despertado destacado diera dieron dieta dio donde duda dudas dura duras elefante elegante elige elite
encontrado enero enterado enterrado entrada entrado entrara esa esas ese eso esos espada estratega
experimentado explora explorar explota explotar facturas falda fase fila fino firma firman floor flor
flora flota forma forman fresa frio frito fruto fuera gallo galo gama gamma gana ganado gas gato golpeado
gorra griegas grietas guarda guardada guardara había habían haga hagan hagas hará haya hayan hayas hija
hilo hoja hueco huevo ignorado impar impulsado incluido incluir incluye inferior influido influir influye
interior interno jueces jueves jugo ladra lago lana lanzado leales liberada liberado liberara libra lima
llama llamado llana llega llegado llegando llegar llegara llegaron lleva llevado llevando llevar llevaron
loma mala malla manga mano manos manta mapa marcar mata matices maña media mejor mejores menor menores
meta mete mimo min mira misa moda mono montado mora moral morales mostrado moto muere muestro multa nido
nieve noreste nueve ola olas ollas oro padecer paga pagos pais pala palo pan papa para parada pare parecer
pared pares paria parida parir parra participado pasa pasaba pasado pasaje pasando paso pasos pata patada
patas pato patos paño peca pedido pelando pena pera perdida pero perra perro pesa pesar pescado peña pico
pido pie pino pinta pintado pisar piso plaga plana planea planta plantas playa poco podar podría podrían
podía pollo polo por poro porro posado posar practicado precio precios precisión preparado presa previos
previsión prisa pro proporcionado protección proyección pudo puma punta puro puso quien rama rana raro
rata rato rayo real reales realizado recorre recorte red referencia regla remo reno respaldado respeto
reto reverencia revisa rica risa risas roca rosa rusas sacado sala saldo salida saluda sano sea seas seco
sen set seto sexo siete sigo sino sirio sirios sitio sitios sobra sola solar soldado soleado solicitado
solo sonar sopa soñar suela suelo suelos suena sueño sueños sureste tala talla tapa tasa taza tejido
temido ten tenido tiene tiro toca tocado toda todo todos tomate tome tomo tono toro tras tratado trato
truco tubo turco tuvo unas utilizado vaca vaga valor vamos vapor vara vas vaso vela velo vemos venas vence
vende ventaja ventajas ventana ventanas version vice vidas vio visas vista vistas vive volar vuelan vuelo
""")

SPANISH: Final = Slips(
    LAYOUT,
    _MISSPELLED,
    _FREQUENT,
    bare={"á": "a", "é": "e", "í": "i", "ó": "o", "ú": "u", "ü": "u", "ñ": "n"},
    dropped=re.compile(r"[üñ]|í(?=[ao]s?\b|an\b)|[áéíóú](?=\w{2})|[éíóú](?=[ns]\b)"),
)
"""Spanish."""
